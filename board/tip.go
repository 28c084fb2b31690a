package board

// A Tip is what the work of an attempt is in git. The names are those of objects, in full.
type Tip struct {
	// Commit is the commit that has all of the work, and Tree its content.
	Commit, Tree string
	// Base is the commit that the work began from; empty if it is not known.
	Base string
}

// IsZero reports whether the tip is unknown.
func (t Tip) IsZero() bool { return t == Tip{} }

// ValidObject reports whether a text is the full name of an object of git.
func ValidObject(name string) bool {
	return (len(name) == 40 || len(name) == maxCommit) && ValidCommit(name)
}

// checkTip validates a tip, which is any client's word: what it names is looked up and merged.
func checkTip(t Tip) error {
	if t.IsZero() {
		return nil
	}
	if !ValidObject(t.Commit) || !ValidObject(t.Tree) || t.Base != "" && !ValidObject(t.Base) ||
		len(t.Tree) != len(t.Commit) || t.Base != "" && len(t.Base) != len(t.Commit) {
		return invalid("invalid tip %.80q: want the full names of a commit and of its tree, and of the commit that it began from", t)
	}
	return nil
}
