package check

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

const (
	// maxLooseTrees is in how many worktrees it is noted what lies about.
	maxLooseTrees = 8
	// maxLooseFacts is of how many files in each it is noted what they are; of further ones it is the name.
	maxLooseFacts = 5000
	// firstTimeout is how long git may take to say what lies about where a task is handed out.
	firstTimeout = 20 * time.Second
)

// The first words of the lines in a note of what lies about in a worktree that have no facts about a file.
const (
	looseMore    = "more"    // one of the further files
	looseIgnored = "ignored" // a file or a directory that git ignores
	looseHidden  = "hidden"  // a changed file at which git does not look
	looseEnd     = "end"     // the note is complete
)

// A lain is what lay about in a worktree when a task was handed out.
type lain struct {
	files git.Loose
	// more are the keys of further files, ignored those of the files and directories that git ignored, and hidden those of changed
	// files at which git did not look, because it was told so.
	more, ignored, hidden map[string]bool
}

// pathKey is a short name for a path.
func pathKey(path string) string {
	sum := sha256.Sum256([]byte(path))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// isZero reports whether nothing lay there.
func (l lain) isZero() bool { return len(l.files)+len(l.more)+len(l.ignored)+len(l.hidden) == 0 }

// wasIgnored reports whether git ignored a file, or would have.
func (l lain) wasIgnored(file string) bool {
	if len(l.ignored) == 0 {
		return false
	}
	for p := file; p != "." && p != "/"; p = path.Dir(p) {
		if l.ignored[pathKey(p)] {
			return true
		}
	}
	return false
}

// wasHidden reports whether a file was changed, and git did not look at it.
func (l lain) wasHidden(file string) bool { return len(l.hidden) > 0 && l.hidden[pathKey(file)] }

// had reports whether a file lay there.
func (l lain) had(file string) bool {
	_, was := l.files[file]
	return was || len(l.more) > 0 && l.more[pathKey(file)]
}

// counts reports whether a loose file is new since then. Of one that is changed, nobody can tell whose part is whose; one
// that git did not have and still does not have may be anybody's, as long as nobody adds it, and so may one that git ignored.
func (l lain) counts(file string, now git.LooseFile) bool {
	if now.Untracked && l.wasIgnored(file) || l.wasHidden(file) {
		return false
	}
	old, was := l.files[file]
	if !was {
		return !l.had(file)
	}
	return !now.Same(old) && !(old.Untracked && now.Untracked)
}

// changed reports whether loose files are there that were not, or that have changed since.
func (l lain) changed(now git.Loose) bool {
	for path, f := range now {
		if l.counts(path, f) {
			return true
		}
	}
	return false
}

// noteLoose notes what lies about in some worktrees when a task is handed out. The worktree where that is comes first; in the
// others a worker may work, too. Where there is no note, all that is not committed may have lain there before.
func (i *Inspector) noteLoose(ctx context.Context, repo *git.Repo, trees []*git.Repo, claim board.Handle) error {
	dirs, err := repo.WorktreeDirs()
	if err != nil {
		return err
	}
	words := make([]string, 0, len(dirs)+1)
	for _, dir := range dirs {
		words = append(words, pathName(dir))
	}
	if err := i.notes(repo).write("trees", noteName(claim), strings.Join(append(words, looseEnd), "\n")); err != nil {
		return err
	}
	errs := make([]error, min(len(trees), maxLooseTrees))
	var wg sync.WaitGroup
	for n := range errs {
		wg.Go(func() {
			limit := gitTimeout
			if n == 0 {
				limit = firstTimeout
			}
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			files, ignored, err := trees[n].Lying(ctx)
			var hidden []string
			if err == nil {
				hidden, err = trees[n].Unwatched(ctx)
			}
			if err == nil {
				err = i.notes(repo).write("loose", looseName(trees[n], claim), looseText(files, ignored, hidden))
			}
			errs[n] = err
		})
	}
	wg.Wait()
	if len(errs) == 0 {
		return nil
	}
	return errs[0] // it is not known of the others
}

// looseName is the name of the note of what lay about in a worktree at a hand-out.
func looseName(tree *git.Repo, claim board.Handle) string {
	return noteName(claim) + "." + pathName(tree.Dir)
}

// looseText is the text of a note of what lies about.
func looseText(files git.Loose, ignored, hidden []string) string {
	paths := slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		switch one, two := files[a].Untracked, files[b].Untracked; {
		case one == two:
			return strings.Compare(a, b)
		case two:
			return -1
		}
		return 1
	})
	var text strings.Builder
	for n, path := range paths {
		if n < maxLooseFacts {
			f := files[path]
			fmt.Fprintf(&text, "%t,%s,%s,%s %s\n", f.Untracked, f.Kind, f.Blob, f.Stamp, url.QueryEscape(path))
		} else {
			fmt.Fprintf(&text, "%s %s\n", looseMore, pathKey(path))
		}
	}
	for _, path := range ignored {
		fmt.Fprintf(&text, "%s %s\n", looseIgnored, pathKey(path))
	}
	for _, path := range hidden {
		fmt.Fprintf(&text, "%s %s\n", looseHidden, pathKey(path))
	}
	return text.String() + looseEnd + " -\n"
}

// loose returns the files of a worktree that are not committed.
func (i *Inspector) loose(ctx context.Context, tree *git.Repo) (git.Loose, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	return tree.Loose(ctx)
}

// looseBefore returns what lay about in a worktree when a task was handed out with a claim: nothing, if it was made since.
// known is false if that is not known.
func (i *Inspector) looseBefore(tree *git.Repo, claim board.Handle) (before lain, known bool) {
	words, ok := i.notes(tree).read("loose", looseName(tree, claim))
	if !ok {
		trees, ok := i.notes(tree).read("trees", noteName(claim))
		return lain{}, ok && slices.Contains(trees, looseEnd) && !slices.Contains(trees, pathName(tree.Dir))
	}
	before = lain{files: git.Loose{}, more: map[string]bool{}, ignored: map[string]bool{}, hidden: map[string]bool{}}
	for pair := range slices.Chunk(words, 2) {
		if len(pair) < 2 {
			return lain{}, false
		}
		switch pair[0] {
		case looseEnd:
			return before, true
		case looseMore:
			before.more[pair[1]] = true
		case looseIgnored:
			before.ignored[pair[1]] = true
		case looseHidden:
			before.hidden[pair[1]] = true
		default:
			path, err := url.QueryUnescape(pair[1])
			facts := strings.Split(pair[0], ",")
			if err != nil || len(facts) != 4 {
				return lain{}, false
			}
			before.files[path] = git.LooseFile{Untracked: facts[0] == "true", Kind: facts[1], Blob: facts[2], Stamp: facts[3]}
		}
	}
	return lain{}, false
}

// Noted reports whether it is known what lay about in the inspector's own worktree when a task was handed out. Outside git
// nothing is to be known.
func (i *Inspector) Noted(w board.Work) bool {
	repo, err := i.repo()
	if err != nil || repo == nil || repo.Bare {
		return true
	}
	_, known := i.looseBefore(repo, w.Claim)
	return known
}

// noteLeft notes the uncommitted files in a worktree when the work of a task there was accepted.
func (i *Inspector) noteLeft(ctx context.Context, tree *git.Repo, task board.ID) {
	if files, err := i.loose(ctx, tree); err == nil { // without a note they may be taken for the work of another task
		_ = i.notes(tree).write("left", leftName(tree, files), task.String())
	}
}

// leftName is the name of the note of some files in a worktree.
func leftName(tree *git.Repo, files git.Loose) string { return pathName(tree.Root) + "." + files.Sum() }

// leftHere says that the worktree in which a task was first handed out has files since then that
// are not committed, if another worktree was judged; empty if it has none, or if the worker was
// told to work elsewhere, or another one works there.
func (i *Inspector) leftHere(ctx context.Context, judged *git.Repo, w board.Work) (string, error) {
	words, _ := i.notes(judged).read("begun", noteName(w.First))
	if len(words) == 0 || w.Ordered != "" || i.inBare() {
		return "", nil
	}
	for _, tree := range judged.Worktrees() {
		if tree.Root == judged.Root || pathName(tree.Root) != words[0] {
			continue
		}
		at := i.where(ctx, tree)
		if at.Uncommitted == 0 || slices.ContainsFunc(w.Others, func(o board.Claim) bool { return beside(o, w, at) }) {
			return "", nil
		}
		now, err := i.loose(ctx, tree)
		if before, known := i.looseBefore(tree, w.First); err != nil || known && !before.changed(now) {
			return "", err
		}
		return fmt.Sprintf("; uncommitted files in %.120q, where the task was handed out, are not in it", tree.Root), nil
	}
	return "", nil
}
