"""Programs with the interface of the MetaDL 2021 challenge."""
