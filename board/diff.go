package board

import (
	"context"
	"errors"
	"slices"
	"unicode/utf8"
)

// What a Diff may have: MaxDiff bounds its patches together, MaxFileDiff that of one file, and
// MaxDiffFiles how many files are named.
const (
	MaxDiff      = 512 << 10
	MaxFileDiff  = 64 << 10
	MaxDiffFiles = 1000
)

// A Diff is what the work of an attempt changed in git, from the commit that it began from. It is kept
// with the attempt, because who reviews it may not have these commits.
type Diff struct {
	// Base and Tip are the two commits.
	Base string `json:"base,omitzero"`
	Tip  string `json:"tip,omitzero"`
	// Files are what was changed, by path, and More is how many further files were.
	Files []FileDiff `json:"files,omitzero"`
	More  int        `json:"more,omitzero"`
	// Withheld is set if the files are not told, because the place of the work keeps them.
	Withheld bool `json:"withheld,omitzero"`
}

// A FileDiff is what was changed in a file.
type FileDiff struct {
	Path string `json:"path"`
	// From is the path that the file had before, if it was renamed.
	From string `json:"from,omitzero"`
	// Kind is A for a file that was added, M modified, D deleted, R renamed, T of another type.
	Kind string `json:"kind"`
	// Mode is the new mode, such as 100755, if that is not what it was, or what a plain file has.
	Mode    string `json:"mode,omitzero"`
	Added   int    `json:"added,omitzero"`
	Removed int    `json:"removed,omitzero"`
	Size    int64  `json:"size,omitzero"` // of the new file
	Patch   string `json:"patch,omitzero"`
	// Left says why Patch is left out, if it is: binary, large, or more, which means that there was
	// no room.
	Left string `json:"left,omitzero"`
}

// IsZero reports whether nothing is known.
func (d Diff) IsZero() bool {
	return d.Base == "" && d.Tip == "" && len(d.Files) == 0 && d.More == 0 && !d.Withheld
}

// Lines counts the lines that were added and removed in all files that are named.
func (d Diff) Lines() (added, removed int) {
	for _, f := range d.Files {
		added, removed = added+f.Added, removed+f.Removed
	}
	return added, removed
}

var (
	fileKinds = []string{"A", "M", "D", "R", "T"}
	fileLefts = []string{"", "binary", "large", "more"}
)

// checkDiff validates a diff, which is any client's word.
func checkDiff(d Diff) error {
	if d.IsZero() {
		return nil
	}
	if d.Tip != "" && !ValidObject(d.Tip) || d.Base != "" && !ValidObject(d.Base) {
		return invalid("invalid diff of %.80q from %.80q: want the full names of commits", d.Tip, d.Base)
	}
	if len(d.Files) > MaxDiffFiles || d.More < 0 || d.Withheld && len(d.Files) > 0 {
		return invalid("invalid diff of %d files: want at most %d, and none if they are withheld", len(d.Files), MaxDiffFiles)
	}
	all := 0
	for _, f := range d.Files {
		all += len(f.Patch)
		if err := checkTexts(text{"path", f.Path, 4096}, text{"path", f.From, 4096}, text{"patch", f.Patch, MaxFileDiff}); err != nil {
			return err
		}
		if f.Path == "" || !slices.Contains(fileKinds, f.Kind) || !slices.Contains(fileLefts, f.Left) || len(f.Mode) > 6 || !utf8.ValidString(f.Mode) || min(int64(f.Added), int64(f.Removed), f.Size) < 0 {
			return invalid("invalid diff of %.80q", f.Path)
		}
	}
	if all > MaxDiff {
		return invalid("a diff of %d bytes is too long: want at most %d", all, MaxDiff)
	}
	return nil
}

// checkDiffOf refuses a diff that is not that of the tip, which is what lands.
func checkDiffOf(d Diff, t Tip) error {
	if !d.IsZero() && (d.Tip != t.Commit || d.Base != t.Base) {
		return invalid("the diff is one of %.12q from %.12q, and what was reported is %.12q from %.12q", d.Tip, d.Base, t.Commit, t.Base)
	}
	return nil
}

// Diff returns what the work of an attempt changed, as its report told; zero if that is not known.
// Attempt 0 is the newest one that has told it.
func (b *Board) Diff(ctx context.Context, id ID, attempt int) (d AttemptDiff, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		if _, err := r.Task(id); err != nil {
			return archived(r, err, id)
		}
		if d, err = r.Diff(id, attempt); errors.Is(err, ErrNotFound) {
			d, err = AttemptDiff{}, nil
		}
		return err
	})
	return d, err
}

// An AttemptDiff is the diff of an attempt.
type AttemptDiff struct {
	Attempt int
	Diff    Diff
}

// A diffLine is the diff of an attempt in an export.
type diffLine struct {
	V     int    `json:"v"`
	Type  string `json:"type"`
	Claim string `json:"claim"`
	Diff
}

func (f *exportFile) addDiff(line []byte) error {
	var w diffLine
	if err := parse(line, &w); err != nil {
		return err
	}
	h, err := ParseHandle(w.Claim)
	if err != nil {
		return err
	}
	f.diffs[h] = w.Diff
	return checkDiff(w.Diff)
}
