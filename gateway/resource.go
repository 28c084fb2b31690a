package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// isOurs reports whether a URI is one of this server's own: no upstream serves any of those, in whatever way it is spelled.
// A client takes what it reads at skill: for instructions, so that scheme is ours alone. Other resources keep their URIs,
// since they are named in results.
func isOurs(uri string) bool {
	for range 4 { // clients differ in how often they decode it
		plain, err := url.PathUnescape(uri)
		if err != nil || plain == uri {
			break
		}
		uri = plain
	}
	scheme, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(uri)), ":")
	return scheme == "bossman" || scheme == "skill"
}

// ourSkill is the name of the skill that this server has.
const ourSkill = "work-the-board"

// addResources adds the resources and templates of all upstreams. One that two upstreams list is not
// published.
func (g *Gateway) addResources(u *mcp.Update, o, old *offer) {
	type listed struct {
		upstream   *upstream
		definition json.RawMessage
	}
	for _, l := range []struct {
		kind   mcp.Kind
		member string
		list   func(*Catalogue) []json.RawMessage
		owners map[string]*upstream
	}{
		{mcp.KindResource, "uri", func(c *Catalogue) []json.RawMessage { return c.Resources }, o.resources},
		{mcp.KindResourceTemplate, "uriTemplate", func(c *Catalogue) []json.RawMessage { return c.Templates }, o.templates},
	} {
		found := map[string][]listed{}
		for _, name := range g.names() {
			up := g.upstreams[name]
			up.mu.Lock()
			c := up.catalogue
			up.mu.Unlock()
			if c == nil {
				continue
			}
			for _, definition := range l.list(c) {
				var d map[string]json.RawMessage
				var uri string
				if jsonv2.Unmarshal(definition, &d) == nil {
					_ = jsonv2.Unmarshal(d[l.member], &uri)
				}
				if uri != "" && !isOurs(uri) {
					found[uri] = append(found[uri], listed{up, definition})
				}
			}
		}
		for uri, list := range found {
			if len(list) > 1 {
				g.log.Warn("a resource is withheld, because several upstreams list it", "uri", spellOut(uri))
				continue
			}
			up := list[0].upstream
			definition, err := plainResource(list[0].definition, up)
			if err != nil {
				g.log.Warn("a resource of an upstream is withheld", "upstream", up.Name, "uri", spellOut(uri), "err", err)
				continue
			}
			key := string(definition) + "\n" + up.Name
			if before, ok := old.texts[l.kind][uri]; !ok || before != key {
				u.Source = up.Name
				err := u.Add(l.kind, definition, func(ctx context.Context, c *mcp.Call) (json.RawMessage, error) {
					if isOurs(c.URI()) {
						return nil, mcp.ErrNotFound
					}
					return g.forward(ctx, c, readRequest(up, c.URI()))
				})
				if err != nil {
					g.log.Warn("a resource of an upstream is withheld", "upstream", up.Name, "err", err)
					continue
				}
			}
			o.texts[l.kind][uri] = key
			l.owners[uri] = up
		}
	}
}

// plainResource returns the definition of a resource or template with what a client needs to read it: URI, name, type, size, and how to show
// it. Resources come and go, so that they are not pinned, and any other text in a definition could say anything at any time.
func plainResource(definition json.RawMessage, u *upstream) (json.RawMessage, error) {
	if u.isRelay() {
		return definition, nil
	}
	if len(definition) > maxDefinition {
		return nil, fmt.Errorf("its definition has more than %d KiB", maxDefinition>>10)
	}
	out := []byte{'{'}
	for name, v := range rawjson.Members(definition) {
		switch name {
		default:
			continue
		case "size":
			if len(v) == 0 || strings.ContainsRune(`"{[`, rune(v[0])) {
				continue
			}
		case "mimeType":
			if !mediaType.MatchString(rawjson.Text(v)) {
				continue
			}
		case "_meta":
			ui := member(v, "ui")
			if !onlyWords(ui) {
				continue
			}
			v = append(appendMember([]byte{'{'}, "ui", ui), '}')
		case "name", "uri", "uriTemplate":
			longest := maxURI
			if name == "name" {
				longest = maxResourceName
			}
			if text := rawjson.Text(v); len(text) > longest || strings.ContainsAny(text, "\n\t") {
				return nil, fmt.Errorf("its %s is not a short line", name)
			}
			if why := suspicious(v); why != "" {
				return nil, errors.New(why)
			}
			if name == "name" && strings.EqualFold(strings.TrimSpace(rawjson.Text(v)), ourSkill) {
				return nil, fmt.Errorf("its name is that of Bossman's own skill, %s", ourSkill)
			}
		}
		out = appendMember(out, name, v)
	}
	return append(out, '}'), nil
}

// mediaType matches a media type with its parameters.
var mediaType = regexp.MustCompile(`^[\w!#$&^.+-]{1,100}/[\w!#$&^.+-]{1,100}(; ?[\w-]{1,30}="?[\w.:/+-]{1,100}"?){0,3}$`)

// onlyWords reports whether an object has no text with spaces or with characters that cannot be seen: it has settings, such as addresses, and
// no sentences.
func onlyWords(object json.RawMessage) bool {
	if len(object) == 0 || object[0] != '{' || suspicious(object) != "" {
		return false
	}
	words := true
	look := func(text string) {
		words = words && len(text) <= maxResourceName && !strings.ContainsFunc(text, unicode.IsSpace)
	}
	rawjson.EditTexts(object, func(text string) string {
		look(text)
		return text
	})
	return words
}

const (
	maxResourceName = 256
	maxURI          = 2048
)

func readRequest(u *upstream, uri string) *request {
	return &request{upstream: u, method: "resources/read", params: append(appendMember([]byte{'{'}, "uri", quote(uri)), '}')}
}

// readNamed reads a resource that is not listed, and that an upstream has named in a result for this caller.
func (g *Gateway) readNamed(ctx context.Context, r *mcp.Request) (mcp.Result, bool, error) {
	uri := rawjson.Text(member(r.Params(), "uri"))
	if uri == "" || isOurs(uri) {
		return nil, false, nil
	}
	u := g.owners.of(r.Principal.ID, uri)
	if u == nil {
		return nil, false, nil
	}
	o := &mcp.CallOptions{}
	raw, err := g.send(ctx, r.Principal.ID, readRequest(u, uri), o, func(c *mcp.Client, _ *Admitted) { refuseQuestions(o, c) })
	if err != nil {
		return nil, true, err
	}
	return raw, true, nil
}

// isUnknownResource reports whether the server has no resource of a URI. An upstream that lists it may say the same.
func isUnknownResource(err error) bool {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && (e.Code == jsonrpc.CodeMethodNotFound || e.Message == "resource not found")
}

// Complete suggests values for an argument of an upstream's prompt or resource template. It reports
// false if the prompt or template is not one of an upstream.
func (g *Gateway) Complete(ctx context.Context, c *mcp.Call, p *mcp.CompleteParams) (*mcp.Completion, bool, error) {
	q := *p
	g.mu.Lock()
	var u *upstream
	if e := g.offer.prompts[p.Ref.Name]; e != nil && p.Ref.Type == "ref/prompt" {
		u, q.Ref.Name = e.upstream, e.name
	} else if p.Ref.Type == "ref/resource" {
		u = g.offer.templates[p.Ref.URI]
	}
	g.mu.Unlock()
	if u == nil {
		return nil, false, nil
	}
	i := g.instance(u, c.Principal().ID)
	client, done, err := i.connect(ctx)
	if err != nil {
		return nil, true, g.explain(u, err, false)
	}
	defer done()
	res, err := client.Complete(ctx, &q, unasked(client))
	if err != nil {
		return nil, true, g.explain(u, err, false)
	}
	return res, true, nil
}

// maxNamed is the number of URIs that are remembered.
const maxNamed = 10_000

// owners remembers which upstream named a URI in a result, for the caller who got it: others did not ask for it. The zero
// value is empty.
type owners struct {
	mu    sync.Mutex
	byURI map[namedURI]*upstream // nil if several named it
	order []namedURI
}

// A namedURI is a URI in a result that a principal got.
type namedURI struct{ principal, uri string }

// of returns the only upstream that named a URI for a principal.
func (o *owners) of(principal, uri string) *upstream {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.byURI[namedURI{principal, uri}]
}

// named notes the URIs of resources in the content of a result.
func (o *owners) named(principal string, u *upstream, result json.RawMessage) {
	content := member(result, "content")
	if len(content) == 0 || content[0] != '[' {
		return
	}
	for block := range rawjson.Elements(content) {
		switch rawjson.Text(member(block, "type")) {
		case "resource_link":
			o.note(principal, u, member(block, "uri"))
		case "resource":
			o.note(principal, u, member(member(block, "resource"), "uri"))
		}
	}
}

func (o *owners) note(principal string, u *upstream, v json.RawMessage) {
	if len(v) == 0 || v[0] != '"' {
		return
	}
	uri := namedURI{principal, strings.Clone(rawjson.Text(v))}
	if len(uri.uri) > maxURI {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byURI == nil {
		o.byURI = map[namedURI]*upstream{}
	}
	if before, known := o.byURI[uri]; known {
		if before != u {
			o.byURI[uri] = nil
		}
		return
	}
	o.byURI[uri] = u
	o.order = append(o.order, uri)
	if len(o.order) > maxNamed {
		delete(o.byURI, o.order[0])
		o.order = slices.Delete(o.order, 0, 1)
	}
}
