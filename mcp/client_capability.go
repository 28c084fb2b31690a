package mcp

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/go-json-experiment/json/jsontext"
)

// capabilities returns what a client declares: what its functions can answer,
// and what the program adds to that.
func (o *ClientOptions) capabilities() ClientCapabilities {
	more := &o.Capabilities
	c := ClientCapabilities{Experimental: maps.Clone(more.Experimental), Extensions: maps.Clone(more.Extensions)}
	if o.Elicit != nil {
		c.Elicitation = &ElicitationCapability{}
		if o.Revision == 0 || o.Revision.richForms() {
			c.Elicitation = &ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}}
		}
	}
	if o.Sample != nil {
		c.Sampling = &SamplingCapability{}
		if more.Sampling != nil {
			*c.Sampling = *more.Sampling
		}
	}
	if o.Roots != nil {
		c.Roots = &RootsCapability{ListChanged: !o.Revision.Stateless()}
	}
	return c
}

// check returns an error if a value is not a JSON object.
func (c *ClientCapabilities) check() error {
	for kind, values := range map[string]map[string]json.RawMessage{"extension": c.Extensions, "experimental capability": c.Experimental} {
		for name, v := range values {
			if value := jsontext.Value(v); !value.IsValid() || value.Kind() != '{' {
				return fmt.Errorf("mcp: the settings of the %s %s are not a JSON object", kind, name)
			}
		}
	}
	return nil
}
