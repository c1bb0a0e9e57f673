"""Makes the modality tables of the rule pack from the sources of the frameworks. Not part of the installed package."""
