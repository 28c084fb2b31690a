package remote

import "time"

// SetPatience sets how long a call is repeated.
func SetPatience(b *Board, d time.Duration) { b.patience = d }
