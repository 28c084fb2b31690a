package board

import (
	"strings"
	"unicode/utf8"
)

// A Target is where accepted work is landed.
type Target struct {
	Kind TargetKind
	// Remote is the name of the remote repository; empty for TargetLocal, and origin for TargetPR.
	Remote string
	// Branch is the branch, without refs/heads/.
	Branch string
}

// A TargetKind is how work gets to a target.
type TargetKind string

const (
	TargetLocal  TargetKind = "local"  // a branch of the repository that has the work
	TargetRemote TargetKind = "remote" // a branch of a remote repository, to which it is pushed
	TargetPR     TargetKind = "pr"     // pull requests for a branch
)

const (
	maxTarget = 200
	headsDir  = "refs/heads/"
	prWord    = "pr:"
)

// ParseTarget parses a target: main is a branch, origin/main one of the remote repository origin,
// and pr:main means pull requests for it. A branch whose name has a slash is written refs/heads/NAME.
func ParseTarget(s string) (Target, error) {
	var t Target
	branch, isPR := strings.CutPrefix(s, prWord)
	local, isLocal := strings.CutPrefix(s, headsDir)
	remote, there, slash := strings.Cut(s, "/")
	switch {
	case isPR:
		t = Target{Kind: TargetPR, Remote: "origin", Branch: branch}
	case isLocal:
		t = Target{Kind: TargetLocal, Branch: local}
	case slash:
		t = Target{Kind: TargetRemote, Remote: remote, Branch: there}
	default:
		t = Target{Kind: TargetLocal, Branch: s}
	}
	remoteOK := t.Kind != TargetRemote || validRef(t.Remote) && t.Remote != "refs"
	if len(s) > maxTarget || !remoteOK || !validRef(t.Branch) || strings.HasPrefix(t.Branch, "refs/") || t.Branch == "HEAD" {
		return Target{}, invalid("invalid landing target %.80q: want a branch, such as main, one of a remote repository, such as origin/main, or pull requests for one: pr:main", s)
	}
	return t, nil
}

// String returns the target in the form that ParseTarget parses.
func (t Target) String() string {
	switch {
	case t.Kind == TargetPR:
		return prWord + t.Branch
	case t.Kind == TargetRemote:
		return t.Remote + "/" + t.Branch
	case strings.Contains(t.Branch, "/"):
		return headsDir + t.Branch
	}
	return t.Branch
}

// validRef reports whether a text can be the name of a branch, by the rules of git check-ref-format
// and some more: it stands in commands, where - is an option and + forces a push, and people read it.
func validRef(name string) bool {
	if name == "" || !utf8.ValidString(name) || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "+") || name == "@" ||
		strings.HasSuffix(name, ".") || strings.Contains(name, "..") || strings.Contains(name, "@{") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune("~^:?*[\\\"'`$&|;<>(){}!#%", r)
	})
}
