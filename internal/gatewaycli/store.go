package gatewaycli

import (
	"context"
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/mcp"
)

// A Store keeps lists and approvals on a board, where all replicas of a server find them.
type Store struct{ b upstreams }

var _ gateway.Store = (*Store)(nil)

type upstreams interface {
	Upstream(ctx context.Context, name string) (board.Upstream, error)
	SaveCatalogue(ctx context.Context, name, catalogue string) error
	AddPins(ctx context.Context, name string, pins ...board.UpstreamPin) error
}

// NewStore returns a store on a board.
func NewStore(b *board.Board) *Store { return &Store{b} }

// Load implements gateway.Store.
func (s *Store) Load(ctx context.Context, upstream string) (*gateway.Record, error) {
	u, err := s.b.Upstream(ctx, upstream)
	if err != nil {
		return nil, err
	}
	r := &gateway.Record{}
	if u.Catalogue != "" {
		if err := jsonv2.Unmarshal([]byte(u.Catalogue), &r.Catalogue); err != nil {
			return nil, err
		}
	}
	for _, p := range u.Pins {
		r.Pins = append(r.Pins, gateway.Pin{Kind: mcp.Kind(p.Kind), Name: p.Name, Hash: p.Hash, Definition: json.RawMessage(p.Definition), By: p.By, At: p.At})
	}
	return r, nil
}

// SaveCatalogue implements gateway.Store.
func (s *Store) SaveCatalogue(ctx context.Context, upstream string, c *gateway.Catalogue) error {
	text, err := jsonv2.Marshal(c)
	if err != nil {
		return err
	}
	return s.b.SaveCatalogue(ctx, upstream, string(text))
}

// AddPins implements gateway.Store.
func (s *Store) AddPins(ctx context.Context, upstream string, pins ...gateway.Pin) error {
	var list []board.UpstreamPin
	for _, p := range pins {
		list = append(list, board.UpstreamPin{Kind: string(p.Kind), Name: p.Name, Hash: p.Hash, Definition: string(p.Definition), By: p.By, At: p.At})
	}
	return s.b.AddPins(ctx, upstream, list...)
}
