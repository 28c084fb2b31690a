package oauth

import (
	"context"
	"maps"
	"sync"
)

// A Record holds what one authorization server has issued.
type Record struct {
	Issuer string           `json:"issuer"`
	Client *Registration    `json:"client,omitzero"`
	Tokens map[string]Token `json:"tokens,omitzero"` // by resource
}

func (r *Record) clone() *Record {
	c := *r
	c.Tokens = maps.Clone(r.Tokens)
	if r.Client != nil {
		c.Client = new(*r.Client)
	}
	return &c
}

// setToken sets the token for a resource.
func (r *Record) setToken(resource string, tok *Token) {
	if r.Tokens == nil {
		r.Tokens = map[string]Token{}
	}
	r.Tokens[resource] = *tok
}

// recordMu is held while a record is changed, because transports may share a
// store.
var recordMu sync.Mutex

// updateRecord changes the record of an issuer, keeping concurrent changes of
// others.
func updateRecord(ctx context.Context, s Store, issuer string, change func(*Record)) error {
	recordMu.Lock()
	defer recordMu.Unlock()
	r, err := s.Load(ctx, issuer)
	if err != nil {
		return err
	}
	if r == nil {
		r = &Record{Issuer: issuer}
	}
	change(r)
	return s.Save(ctx, r)
}
