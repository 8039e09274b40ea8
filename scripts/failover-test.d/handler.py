"""A handler that writes the text of each event to a file, and answers nothing."""

import os
import sys

sys.path.insert(0, os.environ["BALLOON_PYTHON"])
sys.dont_write_bytecode = True
from balloon import Bot

bot = Bot("witness")


@bot.on.text
def text(event):
    with open(os.environ["WITNESS"], "a") as file:
        file.write(event.text + "\n")


bot.run()
