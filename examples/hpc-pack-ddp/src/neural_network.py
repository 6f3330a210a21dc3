"""The network: ten numbers in, five out."""

from torch import Tensor, nn


class ToyModel(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.net2(self.relu(self.net1(x)))
        return out
