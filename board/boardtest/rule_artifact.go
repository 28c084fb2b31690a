package boardtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// lines returns lines of an artifact, with their numbers.
func (f *fixture) lines(a board.Actor, id board.ArtifactID, p board.ArtifactPage) (string, board.ArtifactLines) {
	f.Helper()
	got, err := f.board.Artifact(f.ctx, a, id, p)
	f.ok(err)
	var out []string
	for _, l := range got.Lines {
		out = append(out, fmt.Sprintf("%d:%s", l.No, l.Text))
	}
	return strings.Join(out, " "), got
}

var ruleArtifacts = group{"artifacts", []test{
	{"a long result is read by lines, and by what is in them", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		body := "one\ntwo\nThree\x00\n" + strings.Repeat("é", 1500)
		art, err := f.board.PutArtifact(f.ctx, x.actor, board.NewArtifact{Claim: h, Name: "github__list", Body: []byte(body)})
		f.ok(err)
		f.equal("kept", words(art.Size, art.Stored, art.Task, art.Body), words(len(body), len(body), h.Task, ""))
		text, got := f.lines(ada, art.ID, board.ArtifactPage{Lines: 2})
		f.equal("the first", words(text, got.Total, got.More, got.Artifact.Name), "1:one 2:two 5 true github__list")
		text, _ = f.lines(ada, art.ID, board.ArtifactPage{Line: 3, Lines: 1})
		f.equal("the third", text, "3:Three\x00")
		text, got = f.lines(ada, art.ID, board.ArtifactPage{Find: "T"})
		f.equal("found", words(text, got.More), "2:two 3:Three\x00 false")
		text, _ = f.lines(ada, art.ID, board.ArtifactPage{Line: 4})
		f.equal("a long line", text, "4:"+strings.Repeat("é", 1000)+" 5:"+strings.Repeat("é", 500))
		_, err = f.board.Artifact(f.ctx, ada, art.ID, board.ArtifactPage{Line: -1})
		f.is("line -1", err, board.ErrInvalid)
		_, err = f.board.Artifact(f.ctx, ada, 999, board.ArtifactPage{})
		f.is("no artifact", err, board.ErrNotFound)
		long, err := f.board.PutArtifact(f.ctx, x.actor, board.NewArtifact{Claim: h, Name: "n", Body: []byte(strings.Repeat("line\n", 50_000))})
		f.ok(err)
		_, got = f.lines(ada, long.ID, board.ArtifactPage{})
		if size := 5 * len(got.Lines); size > 32<<10 || size < 30<<10 || !got.More {
			f.Errorf("a page of %d bytes, more: %v", size, got.More)
		}
	}},
	{"what has no room is cut, or not kept", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		big := strings.Repeat("€", (5<<20)/3)
		for i := range 8 {
			art, err := f.board.PutArtifact(f.ctx, x.actor, board.NewArtifact{Claim: h, Name: "n", Body: []byte(big)})
			f.ok(err)
			if art.Size != int64(len(big)) || art.Stored > board.MaxArtifact || art.Stored < board.MaxArtifact-3 {
				f.Fatalf("artifact %d: %+v", i, art)
			}
		}
		art, err := f.board.PutArtifact(f.ctx, x.actor, board.NewArtifact{Claim: h, Name: "n", Body: []byte(big)})
		f.ok(err)
		f.equal("the task has no room", words(art.ID, art.Stored), "0 0")
		other, err := f.board.PutArtifact(f.ctx, x.actor, board.NewArtifact{Claim: board.Handle{}, Name: "n", Body: []byte("small")})
		f.ok(err)
		f.equal("without a task", other.Stored, 5)
	}},
	{"whose it is", func(f *fixture) {
		x, eve := f.agent("x"), board.Actor{Principal: "eve", Owner: "eve"}
		h := x.take(f.create("a"))
		_, err := f.board.PutArtifact(f.ctx, eve, board.NewArtifact{Claim: h, Name: "n", Body: []byte("b")})
		f.is("another's attempt", err, board.ErrDenied)
		forged := h
		forged.Nonce = "22222"
		_, err = f.board.PutArtifact(f.ctx, x.actor, board.NewArtifact{Claim: forged, Name: "n", Body: []byte("b")})
		f.is("no attempt", err, board.ErrConflict)
		x.done(h)
		late, err := f.board.PutArtifact(f.ctx, x.actor, board.NewArtifact{Claim: h, Name: "n", Body: []byte("b")})
		f.ok(err)
		own, err := f.board.PutArtifact(f.ctx, x.actor, board.NewArtifact{Claim: board.Handle{}, Name: "n", Body: []byte("b")})
		f.ok(err)
		f.lines(x.actor, own.ID, board.ArtifactPage{})
		_, err = f.board.Artifact(f.ctx, eve, own.ID, board.ArtifactPage{})
		f.is("of another principal, without a task", err, board.ErrNotFound)
		_, err = f.board.Erase(f.ctx, ada, h.Task, "a secret")
		f.ok(err)
		_, err = f.board.Artifact(f.ctx, ada, late.ID, board.ArtifactPage{})
		f.is("of an erased task", err, board.ErrNotFound)
		f.write(func(tx board.Tx) error { return tx.ForgetArtifacts(time.Hour) })
		f.lines(x.actor, own.ID, board.ArtifactPage{})
		f.write(func(tx board.Tx) error { return tx.ForgetArtifacts(-time.Hour) })
		_, err = f.board.Artifact(f.ctx, x.actor, own.ID, board.ArtifactPage{})
		f.is("an old one", err, board.ErrNotFound)
	}},
}}

var ruleUpstreams = group{"upstreams", []test{
	{"what a server lists and which definitions may be used is stored", func(f *fixture) {
		get := func() board.Upstream {
			u, err := f.board.Upstream(f.ctx, "github")
			f.ok(err)
			for i := range u.Pins {
				if u.Pins[i].At.IsZero() {
					f.Error("a pin without a time")
				}
				u.Pins[i].At = time.Time{}
			}
			return u
		}
		f.equal("before", get(), board.Upstream{})
		f.ok(f.board.SaveCatalogue(f.ctx, "github", `{"tools":[]}`))
		f.ok(f.board.SaveCatalogue(f.ctx, "github", `{"tools":[1]}`))
		f.ok(f.board.SaveCatalogue(f.ctx, "other", `{}`))
		pin := board.UpstreamPin{Kind: "tool", Name: "get", Hash: "h1", Definition: `{"a":1}`}
		f.ok(f.board.AddPins(f.ctx, "github", pin))
		f.equal("after", get(), board.Upstream{Catalogue: `{"tools":[1]}`, Pins: []board.UpstreamPin{pin}})
		approved := pin
		approved.By = "ada"
		f.ok(f.board.AddPins(f.ctx, "github", approved))
		f.ok(f.board.AddPins(f.ctx, "github", pin))
		again := approved
		again.By = "eve"
		second := board.UpstreamPin{Kind: "tool", Name: "get", Hash: "h2", Definition: `{"a":2}`, By: "bob"}
		f.ok(f.board.AddPins(f.ctx, "github", again, second))
		f.equal("approved", get().Pins, []board.UpstreamPin{approved, second})
		f.is("a bad name", f.board.AddPins(f.ctx, "Git Hub", pin), board.ErrInvalid)
		f.is("no hash", f.board.AddPins(f.ctx, "github", board.UpstreamPin{Kind: "tool", Name: "x"}), board.ErrInvalid)
	}},
}}
