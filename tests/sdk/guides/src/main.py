"""The same by the name that the TensorFlow block has for it."""

import train

train.main()
