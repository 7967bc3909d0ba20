"""What tests share: servers, clocks, samples, and how much of everything is tried."""
