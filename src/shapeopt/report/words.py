"""What the pages say of modes, causes and energies, for people who have not read the paper."""

MODES = {
    "settle": "Lightly damped motion. Momentum carries the point over ripples and averages noise.",
    "refine": "Quasi-Newton descent to the bottom of one basin. A step that fails is taken back on its line.",
    "escape": "Readings elsewhere: a hop, or a tactic that tests, sweeps or samples.",
}
CAUSES = {
    "converged": "The bottom of the basin was reached.",
    "hopeless": "Even several times the predicted decrease would not bring this basin below the best so far.",
    "revisit": "The basin was known from an earlier visit.",
    "stall": "Further calls brought nothing.",
    "clock": "The calls planned for this stage were used.",
    "budget": "The budget was spent.",
    "nonfinite": "A value was not a finite number.",
    "done": "The tactic's script came to its end.",
    "rejected": "A test refuted what the tactic looked for.",
    "preempted": "Another tactic had something better to do.",
}
TERMS = {
    "dissipation": "taken out by damping",
    "damping_injection": "taken out by damping that the controller adds",
    "port_work": "fed in or taken out by the controller's input",
    "event_work": "jump when a new stage changes what shapes the motion",
    "clipping": "lost where a step was cut at a bound",
    "relocation": "change of value by moves to another place",
    "discretisation": "error of a step of finite length, and curvature of the landscape",
    "noise": "work of the error in the gradient",
}
