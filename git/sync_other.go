//go:build !unix

package git

// Sync makes what is written in the repository outlive a power cut where that can be asked for.
func (r *Repo) Sync() error { return nil }
