package store

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/bson/bsontype"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"github.com/FerretDB/wire/wirebson"

	"github.com/FerretDB/FerretDB/internal/bson"
	"github.com/FerretDB/FerretDB/internal/types"
)

// elements walks through the fields of a BSON document or array without allocating.
type elements struct {
	rest  []byte
	key   []byte
	value bsoncore.Value
}

func newElements(document []byte) elements {
	if len(document) < 5 {
		return elements{}
	}
	return elements{rest: document[4:]}
}

// next moves to the next field. It returns false at the end, and if the bytes are not a document.
func (e *elements) next() bool {
	if len(e.rest) < 2 || e.rest[0] == 0 {
		return false
	}
	kind := bsontype.Type(e.rest[0])
	end := bytes.IndexByte(e.rest[1:], 0)
	if end < 0 {
		return false
	}
	e.key = e.rest[1 : 1+end]
	data := e.rest[2+end:]
	length := valueSize(kind, data)
	if length < 0 || length > len(data) {
		return false
	}
	e.value = bsoncore.Value{Type: kind, Data: data[:length:length]}
	e.rest = data[length:]
	return true
}

// valueSize returns how many bytes of data the value takes, -1 if they are not a value of that type.
func valueSize(kind bsontype.Type, data []byte) int {
	switch kind {
	case bsontype.Double, bsontype.DateTime, bsontype.Timestamp, bsontype.Int64:
		return 8
	case bsontype.Int32:
		return 4
	case bsontype.Boolean:
		return 1
	case bsontype.ObjectID:
		return 12
	case bsontype.Null, bsontype.Undefined, bsontype.MinKey, bsontype.MaxKey:
		return 0
	case bsontype.Decimal128:
		return 16
	case bsontype.String, bsontype.EmbeddedDocument, bsontype.Array, bsontype.Binary:
		if len(data) < 4 {
			return -1
		}
		size := int(int32(binary.LittleEndian.Uint32(data)))
		switch kind {
		case bsontype.String:
			size += 4
		case bsontype.Binary:
			size += 5
		}
		return size
	}
	_, rest, ok := bsoncore.ReadValue(data, kind)
	if !ok {
		return -1
	}
	return len(data) - len(rest)
}

func lookup(document []byte, name string) (bsoncore.Value, bool) {
	fields := newElements(document)
	for fields.next() {
		if string(fields.key) == name {
			return fields.value, true
		}
	}
	return bsoncore.Value{}, false
}

// presence is how a path was found in a document.
type presence uint8

const (
	missing  presence = iota
	scalar            // one value, and no array
	array             // one value, which is an array
	throughs          // an array stands on the way: there may be several values
)

// lookupPath returns the value at a path. If the path leads through an array, it returns throughs and no value.
func lookupPath(document []byte, path []string) (bsoncore.Value, presence) {
	for i, name := range path {
		value, ok := lookup(document, name)
		if !ok {
			return bsoncore.Value{}, missing
		}
		if i == len(path)-1 {
			if value.Type == bsontype.Array {
				return value, array
			}
			return value, scalar
		}
		switch value.Type {
		case bsontype.EmbeddedDocument:
			document = value.Data
		case bsontype.Array:
			return bsoncore.Value{}, throughs
		default:
			return bsoncore.Value{}, missing
		}
	}
	return bsoncore.Value{}, missing
}

// valuesAt appends all values at a path, also those in documents of arrays and at positions of arrays.
func valuesAt(values []bsoncore.Value, value bsoncore.Value, path []string) []bsoncore.Value {
	if len(path) == 0 {
		return append(values, value)
	}
	switch value.Type {
	case bsontype.EmbeddedDocument:
		if found, ok := lookup(value.Data, path[0]); ok {
			return valuesAt(values, found, path[1:])
		}
	case bsontype.Array:
		_, notPosition := strconv.Atoi(path[0])
		items := newElements(value.Data)
		for items.next() {
			if notPosition == nil && string(items.key) == path[0] {
				values = valuesAt(values, items.value, path[1:])
			}
			if items.value.Type == bsontype.EmbeddedDocument {
				values = valuesAt(values, items.value, path)
			}
		}
	}
	return values
}

func splitPath(field string) []string { return strings.Split(field, ".") }

// encodeDocument returns the BSON of a document.
func encodeDocument(document *types.Document) ([]byte, error) {
	converted, err := bson.FromDocument(document)
	if err != nil {
		return nil, err
	}
	return converted.Encode()
}

// decodeDocument returns the document of its BSON.
func decodeDocument(raw []byte) (*types.Document, error) {
	return bson.ToDocument(wirebson.RawDocument(raw))
}

// encodeValue returns the BSON value of a value of FerretDB's types.
func encodeValue(value any) (bsoncore.Value, error) {
	document, err := types.NewDocument("v", value)
	if err != nil {
		return bsoncore.Value{}, err
	}
	raw, err := encodeDocument(document)
	if err != nil {
		return bsoncore.Value{}, err
	}
	found, _ := lookup(raw, "v")
	return found, nil
}

// WalkFields calls visit with the value of each field of a document or array, until visit returns false.
func WalkFields(document []byte, visit func(bsoncore.Value) bool) {
	fields := newElements(document)
	for fields.next() && visit(fields.value) {
		continue
	}
}
