package gateway

import (
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strings"
)

const (
	// separator is between an upstream's name and a tool's.
	separator = "__"
	// maxName is how long a published name may be: clients allow 64 characters, of
	// which some use mcp__bossman__.
	maxName = 50
	// keptName is how much of a longer name is kept. An underscore and hashName
	// characters of its hash follow.
	keptName = maxName - hashName - 1
	hashName = 7
)

var (
	upstreamName = regexp.MustCompile(`^[a-z][a-z0-9]{0,15}$`)
	itemName     = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
)

// publishedName is the name under which a tool or prompt of an upstream is published. It depends on
// nothing but the two names. It reports false if the item's name has other characters than
// A-Z a-z 0-9 _ . -. Without an upstream, the item has its published name already.
func publishedName(upstream, item string) (string, bool) {
	if !itemName.MatchString(item) {
		return "", false
	}
	name := item
	if upstream != "" {
		name = upstream + separator + item
	}
	if len(name) <= maxName {
		return name, true
	}
	sum := sha256.Sum256([]byte(name))
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))
	return name[:keptName] + "_" + hash[:hashName], true
}

var likeUnderscore = strings.NewReplacer(".", "_", "-", "_")

// foldName returns the form in which names are compared. Some clients rewrite names, so that two
// tools whose names differ only in this could be taken for each other.
func foldName(name string) string { return likeUnderscore.Replace(strings.ToLower(name)) }

// publish returns the published name of each item that has one, and why the others have none. Items
// whose names compare equal are all refused. taken are names of this server's own.
func publish(upstreams map[string][]string, taken []string) (names map[item]string, refused map[item]string) {
	names, refused = map[item]string{}, map[item]string{}
	same := map[string][]item{}
	for upstream, list := range upstreams {
		for _, name := range list {
			it := item{upstream, name}
			if _, twice := names[it]; twice {
				refused[it] = "the upstream lists the name twice"
				continue
			}
			published, ok := publishedName(upstream, name)
			if !ok {
				refused[it] = "its name has characters other than A-Z a-z 0-9 _ . -"
				continue
			}
			names[it] = published
			same[foldName(published)] = append(same[foldName(published)], it)
		}
	}
	for it := range refused { // what is listed twice
		delete(names, it)
	}
	own := map[string]bool{}
	for _, name := range taken {
		own[foldName(name)] = true
	}
	for folded, items := range same {
		if len(items) == 1 && !own[folded] {
			continue
		}
		for _, it := range items {
			delete(names, it)
			if refused[it] == "" {
				refused[it] = "its name is that of another tool: - and . are read as _, and case does not count"
			}
		}
	}
	return names, refused
}

// An item is a tool or prompt of an upstream, by the names that are configured and listed.
type item struct{ upstream, name string }
