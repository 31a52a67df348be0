package store

import (
	"strings"

	"go.mongodb.org/mongo-driver/bson/bsontype"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"github.com/FerretDB/FerretDB/internal/types"
)

// Projection chooses top-level fields of a document on its bytes.
type Projection struct {
	fields   map[string]bool
	includes bool
	withID   bool
}

// NewProjection returns the projection of a find command. The second result is false where only FerretDB's own code can
// apply it: for paths, operators and new values.
func NewProjection(projection *types.Document) (*Projection, bool) {
	p := &Projection{fields: map[string]bool{}, withID: true}
	isDecided := false
	for i, field := range projection.Keys() {
		included, ok := isIncluded(projection.Values()[i])
		if !ok || field == "" || strings.ContainsAny(field, ".$") {
			return nil, false
		}
		if field == "_id" {
			p.withID = included
			continue
		}
		if isDecided && included != p.includes {
			return nil, false
		}
		p.includes, isDecided = included, true
		p.fields[field] = true
	}
	if !isDecided {
		p.includes = p.withID && projection.Len() > 0
	}
	return p, true
}

func isIncluded(value any) (included, ok bool) {
	switch value := value.(type) {
	case bool:
		return value, true
	case int32:
		return value != 0, true
	case int64:
		return value != 0, true
	case float64:
		return value != 0, true
	}
	return false, false
}

// apply returns the chosen fields: the _id first, then the others in the order of the document.
func (p *Projection) apply(raw []byte) []byte {
	start, projected := bsoncore.AppendDocumentStart(make([]byte, 0, len(raw)))
	if p.withID {
		if id, ok := lookup(raw, "_id"); ok {
			projected = appendField(projected, "_id", id)
		}
	}
	fields := newElements(raw)
	for fields.next() {
		if name := string(fields.key); name != "_id" && p.fields[name] == p.includes {
			projected = appendField(projected, name, fields.value)
		}
	}
	projected, err := bsoncore.AppendDocumentEnd(projected, start)
	if err != nil {
		return raw
	}
	return projected
}

func appendField(document []byte, name string, value bsoncore.Value) []byte {
	document = bsoncore.AppendHeader(document, bsontype.Type(value.Type), name)
	return append(document, value.Data...)
}
