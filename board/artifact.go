package board

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// How much artifacts may take: MaxArtifact is for one, the others for all of a task, or of the calls that
// a principal makes without a claim, and for all of a project. artifactTime is how long they are kept.
const (
	MaxArtifact         = 4 << 20
	maxTaskArtifacts    = 32 << 20
	maxProjectArtifacts = 1 << 30
	artifactTime        = 7 * 24 * time.Hour
	// minArtifact is how much room there must be at least to keep the beginning of one.
	minArtifact = 4 << 10
)

// Of an artifact, maxPage bytes are read at a time, and maxFound lines found. A line that is
// longer than artifactLine bytes is read as several.
const (
	maxPage      = 32 << 10
	maxFound     = 50
	artifactLine = 2000
)

// An ArtifactID identifies an artifact.
type ArtifactID int64

// An Artifact is a result that is too large to be shown as a whole.
type Artifact struct {
	ID ArtifactID
	// Task is the task that it belongs to; whoever may read the task may read it. Without a
	// task, only Principal may.
	Task      ID
	Principal string
	// Name says what it is the result of.
	Name string
	// Size is the size of the whole, and Stored how much of it is kept, from the beginning.
	Size, Stored int64
	At           time.Time
	// Body is set in a store only.
	Body string
}

// A NewArtifact is a text to keep.
type NewArtifact struct {
	// Claim is what it was made under, which may have ended, or zero.
	Claim Handle
	Name  string
	Body  []byte
	// Size is that of the whole, if Body is only its beginning.
	Size int64
}

// PutArtifact keeps a text for a week, or as much of it as the limits allow: Stored tells. If there
// is no room, nothing is kept, and its ID is zero.
func (b *Board) PutArtifact(ctx context.Context, a Actor, n NewArtifact) (Artifact, error) {
	if err := checkTexts(text{"name", n.Name, 300}); err != nil {
		return Artifact{}, err
	}
	var out Artifact
	h, body := n.Claim, string(n.Body)
	err := b.store.Write(ctx, func(tx Tx) error {
		out = Artifact{Task: h.Task, Principal: a.Principal, Name: n.Name, Size: max(n.Size, int64(len(body)))}
		if !h.IsZero() {
			attempt, err := tx.Attempt(h.Task, h.Attempt)
			if errors.Is(err, ErrNotFound) || err == nil && attempt.Handle != h {
				return conflict("there was no claim %v", h)
			}
			if err != nil {
				return err
			}
			if attempt.Worker.Principal != a.Principal {
				return denied("%v is not an attempt of %s", h, a.Principal)
			}
		}
		own, all, err := tx.ArtifactBytes(h.Task, a.Principal)
		if err != nil {
			return err
		}
		kept := cut(body, min(MaxArtifact, maxTaskArtifacts-own, maxProjectArtifacts-all))
		if len(kept) < len(body) && len(kept) < minArtifact {
			return nil
		}
		out.Stored, out.Body = int64(len(kept)), kept
		if out.At, err = tx.Now(); err != nil {
			return err
		}
		out.ID, err = tx.InsertArtifact(out)
		return err
	})
	out.Body = ""
	return out, err
}

// cut returns the first n bytes of a text, or a few less so as not to divide a character.
func cut(s string, n int64) string {
	if n <= 0 {
		return ""
	}
	if int64(len(s)) <= n {
		return s
	}
	end := int(n)
	for end > 0 && end > int(n)-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// An ArtifactPage says what to read of an artifact.
type ArtifactPage struct {
	// Line is the first line, 1 if it is zero, and Lines how many to read at most.
	Line, Lines int
	// Find selects the lines that have this text, in any letter case.
	Find string
}

// An ArtifactLine is a line of an artifact. The first is number 1.
type ArtifactLine struct {
	No   int
	Text string
}

// ArtifactLines are lines of an artifact.
type ArtifactLines struct {
	Artifact Artifact
	Lines    []ArtifactLine
	// Total is how many lines it has, and More is set if there are further ones that were asked for.
	Total int
	More  bool
}

// Artifact reads lines of an artifact, as many as fit into one answer. A line of more than 2,000
// bytes counts as several.
func (b *Board) Artifact(ctx context.Context, a Actor, id ArtifactID, p ArtifactPage) (out ArtifactLines, err error) {
	if p.Line < 0 || p.Lines < 0 {
		return out, invalid("invalid lines %d from %d", p.Lines, p.Line)
	}
	err = b.store.Read(ctx, func(r Reader) error {
		out = ArtifactLines{}
		art, err := r.Artifact(id)
		if err == nil && art.Task.IsZero() && art.Principal != a.Principal {
			err = fmt.Errorf("%w: artifact %d", ErrNotFound, id)
		}
		if err != nil {
			return err
		}
		out = art.page(p)
		return nil
	})
	return out, err
}

// page returns lines of an artifact.
func (a Artifact) page(p ArtifactPage) (out ArtifactLines) {
	find := strings.ToLower(p.Find)
	size := 0
	for line := range artifactLines(strings.ToValidUTF8(a.Body, "\uFFFD")) { // it may have been cut
		out.Total++
		switch {
		case out.Total < p.Line || find != "" && !strings.Contains(strings.ToLower(line), find):
		case size+len(line) > maxPage || p.Lines > 0 && len(out.Lines) == p.Lines || find != "" && len(out.Lines) == maxFound:
			out.More, size = true, maxPage+1
		default:
			size += len(line) + 1
			out.Lines = append(out.Lines, ArtifactLine{out.Total, line})
		}
	}
	a.Body = ""
	out.Artifact = a
	return out
}

// artifactLines yields the lines of a text, and the parts of long ones.
func artifactLines(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(s) {
			line = strings.TrimSuffix(line, "\n")
			for len(line) > artifactLine {
				part := cut(line, artifactLine)
				if !yield(part) {
					return
				}
				line = line[len(part):]
			}
			if !yield(line) {
				return
			}
		}
	}
}
