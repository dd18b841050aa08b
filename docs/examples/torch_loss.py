# ---
# jupyter:
#   kernelspec: {name: python3, display_name: Python 3, language: python}
# ---

# %% [markdown]
# # A PyTorch loss
#
# The loss of a small network has many minima, and a full-batch closure gives its exact gradient: a case for a method
# that leaves a basin. `shapeopt.torch` needs the extra `torch`.

# %%
import math

import matplotlib.pyplot as plt
import torch

import shapeopt.torch

torch.manual_seed(0)
x = torch.linspace(-1, 1, 64, dtype=torch.float64)[:, None]
y = torch.sin(8 * x) * torch.exp(-(x**2))


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()


# %% [markdown]
# As an optimizer: one closure a step. The step that spends the budget leaves the best parameters in place.


# %%
def train(model, optimizer, steps):
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    for _ in range(steps):
        losses.append(optimizer.step(closure).item())
    return losses


STEPS = 600
shape_model, adam_model = network(), network()
shape_losses = train(shape_model, shapeopt.torch.Shape(shape_model.parameters(), bounds=(-15, 15), budget=STEPS), STEPS)
adam_losses = train(adam_model, torch.optim.Adam(adam_model.parameters(), lr=0.03), STEPS)
print(f"after {STEPS} closures: SHAPE {min(shape_losses):.2e}, Adam {min(adam_losses):.2e}")
assert min(shape_losses) < 0.1 * min(adam_losses)

# %%
with torch.no_grad():
    fits = {"SHAPE": shape_model(x), "Adam": adam_model(x)}
fig, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
axes[0].plot(x, y, ".", color="0.6", label="data")
for name, fit in fits.items():
    axes[0].plot(x, fit, label=name)
axes[0].legend(loc="lower right")
axes[1].semilogy(shape_losses, lw=0.7, label="SHAPE, each closure")
axes[1].semilogy(adam_losses, label="Adam")
axes[1].set(xlabel="closures", title="loss")
axes[1].legend()
plt.show()


# %% [markdown]
# As `minimize`, for a function of tensors:


# %%
def ripples(z):
    return (z**2 / 10 + 1 - torch.cos(math.pi * z)).sum()


result = shapeopt.torch.minimize(ripples, torch.full((6,), 3.3, dtype=torch.float64), bounds=(-5, 5), budget=200)
print(result.fun, result.x)
assert result.fun < 1e-9
