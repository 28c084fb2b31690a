package mcp

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/mcp/internal/link"
)

// Client capabilities in a packed session, one bit each.
const (
	canRoots = 1 << iota
	canRootsChanged
	canSample
	canSampleContext
	canSampleTools
	canElicit
	canElicitForm
	canElicitURL
)

const (
	maxPackedInfo       = 64  // limit for each of the client's name and version
	maxPackedExtensions = 160 // limit for the declared extensions
)

// AppendBinary appends the session in at most 300 bytes: the revision, the
// capabilities of the protocol, the beginning of the client's name and version,
// and the extensions. If the extensions take too much space, their settings are
// dropped, and then the last extensions.
func (x *session) AppendBinary(b []byte) ([]byte, error) {
	c := &x.client
	var can uint16
	set := func(bit uint16, on bool) {
		if on {
			can |= bit
		}
	}
	if c.Roots != nil {
		set(canRoots, true)
		set(canRootsChanged, c.Roots.ListChanged)
	}
	if c.Sampling != nil {
		set(canSample, true)
		set(canSampleContext, c.Sampling.Context != nil)
		set(canSampleTools, c.Sampling.Tools != nil)
	}
	if c.Elicitation != nil {
		set(canElicit, true)
		set(canElicitForm, c.Elicitation.Form != nil)
		set(canElicitURL, c.Elicitation.URL != nil)
	}
	b = binary.BigEndian.AppendUint16(append(b, byte(x.revision)), can)
	for _, s := range []string{x.info.Name, x.info.Version} {
		s = strings.ToValidUTF8(s[:min(len(s), maxPackedInfo)], "") // no partial character
		b = append(append(b, byte(len(s))), s...)
	}
	ext, err := packExtensions(c.Extensions)
	return append(append(b, byte(len(ext))), ext...), err
}

// packExtensions encodes the extensions, as many as fit.
func packExtensions(all map[string]json.RawMessage) ([]byte, error) {
	if len(all) == 0 {
		return nil, nil
	}
	b, err := jsonv2.Marshal(all, jsonv2.Deterministic(true))
	if err != nil || len(b) <= maxPackedExtensions {
		return b, err
	}
	some := map[string]struct{}{}
	b = nil
	for _, id := range slices.Sorted(maps.Keys(all)) {
		some[id] = struct{}{}
		more, err := jsonv2.Marshal(some, jsonv2.Deterministic(true))
		if err != nil || len(more) > maxPackedExtensions {
			break
		}
		b = more
	}
	return b, nil
}

var errBadPacking = errors.New("mcp: not a packed session")

// openSession unpacks a session packed by AppendBinary. state holds what the
// client has set since.
func openSession(packed []byte, state link.SessionState) (*session, error) {
	if len(packed) < 3 {
		return nil, errBadPacking
	}
	x := &session{revision: Revision(packed[0]), state: state}
	if x.revision < R20241105 || x.revision > newestLegacy {
		return nil, errBadPacking
	}
	can := binary.BigEndian.Uint16(packed[1:])
	flag := func(bit uint16) *struct{} {
		if can&bit == 0 {
			return nil
		}
		return &struct{}{}
	}
	if can&canRoots != 0 {
		x.client.Roots = &RootsCapability{ListChanged: can&canRootsChanged != 0}
	}
	if can&canSample != 0 {
		x.client.Sampling = &SamplingCapability{Context: flag(canSampleContext), Tools: flag(canSampleTools)}
	}
	if can&canElicit != 0 {
		x.client.Elicitation = &ElicitationCapability{Form: flag(canElicitForm), URL: flag(canElicitURL)}
	}
	rest := packed[3:]
	var extensions string
	for _, s := range []*string{&x.info.Name, &x.info.Version, &extensions} {
		if len(rest) == 0 || len(rest) < 1+int(rest[0]) {
			return nil, errBadPacking
		}
		*s = string(rest[1 : 1+rest[0]])
		rest = rest[1+rest[0]:]
	}
	if len(rest) > 0 || extensions != "" && jsonv2.Unmarshal([]byte(extensions), &x.client.Extensions) != nil {
		return nil, errBadPacking
	}
	return x, nil
}
