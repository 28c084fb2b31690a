package board

import (
	"context"
	"time"
)

// maxCatalogue bounds the catalogue of a server, and maxDefinition a definition in it.
const (
	maxCatalogue  = 4 << 20
	maxDefinition = 1 << 20
)

// An Upstream is what is stored about a server behind the gateway.
type Upstream struct {
	// Catalogue is what the server listed last, as the gateway wrote it.
	Catalogue string
	Pins      []UpstreamPin
}

// An UpstreamPin is a definition that may be used.
type UpstreamPin struct {
	Kind, Name string
	// Hash is that of Definition, which is the text that was seen.
	Hash, Definition string
	// By is who approved it, and At when; empty if it was accepted because it was the first
	// of its name.
	By string
	At time.Time
}

// Upstream reads what is stored about a server behind the gateway; zero if that is nothing.
func (b *Board) Upstream(ctx context.Context, name string) (u Upstream, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		u, err = r.Upstream(name)
		return err
	})
	return u, err
}

// SaveCatalogue replaces the catalogue of a server.
func (b *Board) SaveCatalogue(ctx context.Context, name, catalogue string) error {
	if err := checkTexts(text{"catalogue", catalogue, maxCatalogue}); err != nil {
		return err
	}
	if !upstreamName.MatchString(name) {
		return invalid("invalid upstream %.40q", name)
	}
	return b.store.Write(ctx, func(tx Tx) error { return tx.PutCatalogue(name, catalogue) })
}

// AddPins adds definitions of a server that may be used, as of now. One that is stored already
// stays as it is, unless it was stored without an approval and is approved now.
func (b *Board) AddPins(ctx context.Context, name string, pins ...UpstreamPin) error {
	if !upstreamName.MatchString(name) {
		return invalid("invalid upstream %.40q", name)
	}
	for _, p := range pins {
		if p.Kind == "" || p.Name == "" || p.Hash == "" {
			return invalid("a pin has a kind, a name and a hash")
		}
		if err := checkTexts(text{"kind", p.Kind, 40}, text{"name", p.Name, 1000}, text{"hash", p.Hash, 200}, text{"definition", p.Definition, maxDefinition}, text{"by", p.By, 1000}); err != nil {
			return err
		}
	}
	if len(pins) == 0 {
		return nil
	}
	return b.store.Write(ctx, func(tx Tx) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		for _, p := range pins {
			p.At = now
			if err := tx.PutPin(name, p); err != nil {
				return err
			}
		}
		return nil
	})
}
