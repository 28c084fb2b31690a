package mcp

import (
	"encoding/json"
	"fmt"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
)

// Meta is a _meta member. Values must be encodable as JSON.
type Meta map[string]any

// Annotations tells a client how an item is meant to be used.
type Annotations struct {
	Audience     []string `json:"audience,omitzero"` // "user", "assistant"
	Priority     *float64 `json:"priority,omitzero"` // from 0 (optional) to 1 (required)
	LastModified string   `json:"lastModified,omitzero"`
}

// An Icon is an image that a client may show. A client must decide whether to
// trust Src before fetching it.
type Icon struct {
	Src      string   `json:"src"`
	MIMEType string   `json:"mimeType,omitzero"`
	Sizes    []string `json:"sizes,omitzero"` // "48x48", "any"
	Theme    string   `json:"theme,omitzero"` // "light" or "dark"
}

// Content is one block of a tool result, a prompt or a model's message. Type
// determines which fields are used; the others are not encoded:
//
//	text           Text
//	image, audio   Data, MIMEType
//	resource       Resource
//	resource_link  URI, Name, Title, Description, MIMEType, Size, Icons
//	tool_use       ID, Name, Input
//	tool_result    ToolUseID, Content, StructuredContent, IsError
//
// Meta applies to all types, Annotations to all but the last two. A block of
// any other type can be decoded but not encoded.
type Content struct {
	Type              string            `json:"type"`
	Text              string            `json:"text,omitzero"`
	Data              []byte            `json:"data,omitzero"`
	MIMEType          string            `json:"mimeType,omitzero"`
	Resource          *ResourceContents `json:"resource,omitzero"`
	URI               string            `json:"uri,omitzero"`
	Name              string            `json:"name,omitzero"`
	Title             string            `json:"title,omitzero"`
	Description       string            `json:"description,omitzero"`
	Size              *int64            `json:"size,omitzero"`
	Icons             []Icon            `json:"icons,omitzero"`
	ID                string            `json:"id,omitzero"`
	Input             json.RawMessage   `json:"input,omitzero"`
	ToolUseID         string            `json:"toolUseId,omitzero"`
	Content           []Content         `json:"content,omitzero"`
	StructuredContent json.RawMessage   `json:"structuredContent,omitzero"`
	IsError           bool              `json:"isError,omitzero"`
	Annotations       *Annotations      `json:"annotations,omitzero"`
	Meta              Meta              `json:"_meta,omitzero"`
}

// Text returns a text block.
func Text(s string) Content { return Content{Type: "text", Text: s} }

// Image returns an image block; mime is for example "image/png".
func Image(data []byte, mime string) Content {
	return Content{Type: "image", Data: data, MIMEType: mime}
}

// Audio returns an audio block; mime is for example "audio/wav".
func Audio(data []byte, mime string) Content {
	return Content{Type: "audio", Data: data, MIMEType: mime}
}

// Link returns a link to a resource that the client can read.
func Link(r Resource) Content {
	return Content{
		Type: "resource_link", URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description,
		MIMEType: r.MIMEType, Size: r.Size, Icons: r.Icons, Annotations: r.Annotations, Meta: r.Meta,
	}
}

// Embed returns a block that contains a resource.
func Embed(c ResourceContents) Content { return Content{Type: "resource", Resource: &c} }

// MarshalJSON encodes the members that the block's type uses.
func (c Content) MarshalJSON() ([]byte, error) { return c.append(nil) }

// append encodes the block: members that its type requires always, the others
// if set.
func (c *Content) append(b []byte) ([]byte, error) {
	b = append(b, '{')
	b = appendString(appendMember(b, "type"), c.Type)
	var err error
	switch c.Type {
	case "text":
		b = appendString(appendMember(b, "text"), c.Text)
	case "image", "audio":
		b = appendBase64(b, "data", c.Data)
		b = appendString(appendMember(b, "mimeType"), c.MIMEType)
	case "resource":
		if c.Resource == nil {
			return nil, fmt.Errorf("mcp: content of type resource has no resource")
		}
		b, err = c.Resource.append(appendMember(b, "resource"))
	case "resource_link":
		b, err = c.appendLink(b)
	case "tool_use":
		b = appendString(appendMember(b, "id"), c.ID)
		b = appendString(appendMember(b, "name"), c.Name)
		input := c.Input
		if input == nil {
			input = json.RawMessage("{}")
		}
		b, err = appendRaw(b, "input", input)
	case "tool_result":
		b = appendString(appendMember(b, "toolUseId"), c.ToolUseID)
		b, err = appendOutcome(b, c.Content, c.StructuredContent, c.IsError)
	default:
		return nil, fmt.Errorf("mcp: cannot encode content of type %q", c.Type)
	}
	if err != nil {
		return nil, err
	}
	if c.Annotations != nil && c.Type != "tool_use" && c.Type != "tool_result" {
		if b, err = appendValue(b, "annotations", c.Annotations); err != nil {
			return nil, err
		}
	}
	return appendEnd(b, c.Meta)
}

func (c *Content) appendLink(b []byte) ([]byte, error) {
	b = appendString(appendMember(b, "uri"), c.URI)
	b = appendString(appendMember(b, "name"), c.Name)
	b = appendText(b, "title", c.Title)
	b = appendText(b, "description", c.Description)
	b = appendText(b, "mimeType", c.MIMEType)
	if c.Size != nil {
		b = strconv.AppendInt(appendMember(b, "size"), *c.Size, 10)
	}
	if c.Icons == nil {
		return b, nil
	}
	return appendValue(b, "icons", c.Icons)
}

// appendOutcome appends the members of a tool's outcome.
func appendOutcome(b []byte, blocks []Content, structured json.RawMessage, isError bool) ([]byte, error) {
	b, err := appendBlocks(appendMember(b, "content"), blocks)
	if err != nil {
		return nil, err
	}
	if structured != nil {
		if b, err = appendRaw(b, "structuredContent", structured); err != nil {
			return nil, err
		}
	}
	if isError {
		b = append(appendMember(b, "isError"), "true"...)
	}
	return b, nil
}

// appendBlocks appends the blocks as an array.
func appendBlocks(b []byte, blocks []Content) ([]byte, error) {
	b = append(b, '[')
	for i := range blocks {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = blocks[i].append(b); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// appendEnd appends _meta, if set, and closes the object.
func appendEnd(b []byte, meta Meta) ([]byte, error) {
	if meta != nil {
		var err error
		if b, err = appendValue(b, "_meta", meta); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// A ResourceResult is what was read of a resource: its contents, and possibly
// those of resources below it.
type ResourceResult struct {
	Contents []ResourceContents `json:"contents"`
	Meta     Meta               `json:"_meta,omitzero"`

	cache cacheHint
}

func (r *ResourceResult) append(b []byte) ([]byte, error) {
	b = append(b, `{"contents":[`...)
	for i := range r.Contents {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = r.Contents[i].append(b); err != nil {
			return nil, err
		}
	}
	b = append(b, ']')
	if len(r.Meta) > 0 {
		var err error
		if b, err = appendValue(b, "_meta", r.Meta); err != nil {
			return nil, err
		}
	}
	return append(r.cache.append(b), '}'), nil
}

// Text returns the text of the first contents.
func (r *ResourceResult) Text() string {
	if len(r.Contents) == 0 {
		return ""
	}
	return r.Contents[0].Text
}

// ResourceContents is the contents of a resource: text or, if Blob is not nil, bytes.
type ResourceContents struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType,omitzero"`
	Text     string `json:"text,omitzero"`
	Blob     []byte `json:"blob,omitzero"`
	Meta     Meta   `json:"_meta,omitzero"`
}

// MarshalJSON encodes either text or blob, even if it is empty.
func (c ResourceContents) MarshalJSON() ([]byte, error) { return c.append(nil) }

func (c *ResourceContents) append(b []byte) ([]byte, error) {
	b = append(b, '{')
	b = appendString(appendMember(b, "uri"), c.URI)
	b = appendText(b, "mimeType", c.MIMEType)
	if c.Blob != nil {
		b = appendBase64(b, "blob", c.Blob)
	} else {
		b = appendString(appendMember(b, "text"), c.Text)
	}
	return appendEnd(b, c.Meta)
}

// Blocks is the content of a sampling message. A single block is encoded as an
// object, any other number as an array. Both forms can be decoded.
type Blocks []Content

// MarshalJSON encodes one block as an object, otherwise an array.
func (bs Blocks) MarshalJSON() ([]byte, error) {
	if len(bs) == 1 {
		return bs[0].append(nil)
	}
	return appendBlocks(nil, bs)
}

// UnmarshalJSON decodes one block or an array of blocks.
func (bs *Blocks) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		return jsonv2.Unmarshal(b, (*[]Content)(bs))
	}
	var c Content
	if err := jsonv2.Unmarshal(b, &c); err != nil {
		return err
	}
	*bs = Blocks{c}
	return nil
}
