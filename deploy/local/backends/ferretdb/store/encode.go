package store

import (
	"encoding/binary"
	"math"

	"go.mongodb.org/mongo-driver/bson/bsontype"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"
)

// Type classes in MongoDB's sort order. The first byte of every encoded value is its class, so that values of one class
// are neighbours in an index. Numbers of all types share a class: 1 and 1.0 have the same encoding.
const (
	classEmptyArray byte = 0x08
	classNull       byte = 0x10 // a missing field, too
	classNaN        byte = 0x14
	classNumber     byte = 0x18
	classString     byte = 0x20
	classDocument   byte = 0x28
	classArray      byte = 0x30
	classBinary     byte = 0x38
	classObjectID   byte = 0x40
	classBool       byte = 0x48
	classDate       byte = 0x50
	classTimestamp  byte = 0x58
	classRegex      byte = 0x60
	classOther      byte = 0x70
)

// endOfList ends the encoding of a document or an array. It sorts before every class.
const endOfList byte = 0x01

// appendValue appends the encoding of a BSON value. The encodings of two values compare as the values do, and no encoding is
// a prefix of another.
func appendValue(dst []byte, value bsoncore.Value) []byte {
	switch value.Type {
	case 0, bsontype.Null, bsontype.Undefined:
		return append(dst, classNull)
	case bsontype.Double:
		return appendDouble(dst, value.Double())
	case bsontype.Int32:
		return appendInteger(dst, int64(value.Int32()))
	case bsontype.Int64:
		return appendInteger(dst, value.Int64())
	case bsontype.String:
		text, _, ok := bsoncore.ReadString(value.Data)
		if !ok {
			return append(dst, classOther)
		}
		return appendText(append(dst, classString), text)
	case bsontype.EmbeddedDocument:
		return appendDocument(dst, value.Data)
	case bsontype.Array:
		return appendArray(dst, value.Data)
	case bsontype.Binary:
		subtype, data := value.Binary()
		dst = binary.BigEndian.AppendUint32(append(dst, classBinary), uint32(len(data)))
		return append(append(dst, subtype), data...)
	case bsontype.ObjectID:
		id := value.ObjectID()
		return append(append(dst, classObjectID), id[:]...)
	case bsontype.Boolean:
		if value.Boolean() {
			return append(dst, classBool, 1)
		}
		return append(dst, classBool, 0)
	case bsontype.DateTime:
		return appendSortable(append(dst, classDate), value.DateTime())
	case bsontype.Timestamp:
		seconds, number := value.Timestamp()
		dst = binary.BigEndian.AppendUint32(append(dst, classTimestamp), seconds)
		return binary.BigEndian.AppendUint32(dst, number)
	case bsontype.Regex:
		pattern, options := value.Regex()
		return appendText(appendText(append(dst, classRegex), pattern), options)
	default:
		dst = append(dst, classOther, byte(value.Type))
		return appendText(dst, string(value.Data))
	}
}

// appendText appends a string so that its end sorts before every longer string: 0x00 within it becomes 0x00 0xFF.
func appendText(dst []byte, text string) []byte {
	for i := 0; i < len(text); i++ {
		dst = append(dst, text[i])
		if text[i] == 0 {
			dst = append(dst, 0xFF)
		}
	}
	return append(dst, 0x00, 0x01)
}

func appendSortable(dst []byte, number int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(number)^(1<<63))
}

// appendDouble appends the class and ten bytes: the double in sortable form, and what an integer has beyond that double.
func appendDouble(dst []byte, number float64) []byte {
	if math.IsNaN(number) {
		return append(dst, classNaN)
	}
	return appendNumber(dst, number, 0)
}

// appendInteger appends an integer as the nearest double and the rest, so that integers above 2^53 keep their order.
func appendInteger(dst []byte, number int64) []byte {
	nearest := float64(number)
	if nearest >= math.MaxInt64 { // 2^63 itself is no int64
		return appendNumber(dst, nearest, -int16(math.MaxInt64-number)-1)
	}
	return appendNumber(dst, nearest, int16(number-int64(nearest)))
}

func appendNumber(dst []byte, number float64, rest int16) []byte {
	if number == 0 {
		number = 0 // -0 equals 0
	}
	bits := math.Float64bits(number)
	if bits&(1<<63) != 0 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	dst = binary.BigEndian.AppendUint64(append(dst, classNumber), bits)
	return binary.BigEndian.AppendUint16(dst, uint16(rest)^(1<<15))
}

// appendDocument appends class, name and content of each field, in the order in which documents are compared.
func appendDocument(dst []byte, document bsoncore.Document) []byte {
	dst = append(dst, classDocument)
	elements := newElements(document)
	for elements.next() {
		start := len(dst)
		dst = appendValue(dst, elements.value)
		class := dst[start]
		content := append([]byte(nil), dst[start+1:]...)
		dst = append(dst[:start], class)
		dst = append(appendText(dst, string(elements.key)), content...)
	}
	return append(dst, endOfList)
}

func appendArray(dst []byte, array bsoncore.Document) []byte {
	dst = append(dst, classArray)
	elements := newElements(array)
	for elements.next() {
		dst = appendValue(dst, elements.value)
	}
	return append(dst, endOfList)
}

// valueLength returns the length of the encoded value at the start of key. inverted says that each byte is complemented.
// The length is 0 if key is not an encoded value.
func valueLength(key []byte, inverted bool) int {
	var mask byte
	if inverted {
		mask = 0xFF
	}
	if len(key) == 0 {
		return 0
	}
	fixed := func(length int) int {
		if len(key) < length {
			return 0
		}
		return length
	}
	switch key[0] ^ mask {
	case classEmptyArray, classNull, classNaN:
		return 1
	case classNumber:
		return fixed(11)
	case classString:
		return textEnd(key, 1, mask)
	case classObjectID:
		return fixed(13)
	case classBool:
		return fixed(2)
	case classDate, classTimestamp:
		return fixed(9)
	case classBinary:
		if len(key) < 6 {
			return 0
		}
		var size uint32
		for _, b := range key[1:5] {
			size = size<<8 | uint32(b^mask)
		}
		return fixed(6 + int(size))
	case classRegex:
		return textEnd(key, textEnd(key, 1, mask), mask)
	case classOther:
		if len(key) < 2 {
			return 0
		}
		return textEnd(key, 2, mask)
	case classDocument:
		return listEnd(key, inverted, true)
	case classArray:
		return listEnd(key, inverted, false)
	}
	return 0
}

// textEnd returns where the text that begins at start ends, 0 if it does not.
func textEnd(key []byte, start int, mask byte) int {
	if start == 0 {
		return 0
	}
	for i := start; i+1 < len(key); i++ {
		if key[i]^mask != 0 {
			continue
		}
		if key[i+1]^mask == 0x01 {
			return i + 2
		}
		i++
	}
	return 0
}

func listEnd(key []byte, inverted, named bool) int {
	var mask byte
	if inverted {
		mask = 0xFF
	}
	at := 1
	for at < len(key) {
		if key[at]^mask == endOfList {
			return at + 1
		}
		if named { // class, name, content: the name stands between class and content
			name := textEnd(key, at+1, mask)
			if name == 0 {
				return 0
			}
			element := append([]byte{key[at]}, key[name:]...)
			length := valueLength(element, inverted)
			if length == 0 {
				return 0
			}
			at = name + length - 1
			continue
		}
		length := valueLength(key[at:], inverted)
		if length == 0 {
			return 0
		}
		at += length
	}
	return 0
}

func invert(part []byte) {
	for i := range part {
		part[i] = ^part[i]
	}
}

// prefixEnd returns the first key after all keys that begin with prefix; nil if none exists.
func prefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		end[i]++
		if end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}
