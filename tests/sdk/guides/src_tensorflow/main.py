"""The same by the name that the guide for v2 has for it."""

import train

train.main()
