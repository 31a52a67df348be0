package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"go.mongodb.org/mongo-driver/bson/bsontype"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"
)

// maxEntries bounds the index entries of one document.
const maxEntries = 100_000

// errDuplicate is returned if a unique value is in another document.
var errDuplicate = errors.New("duplicate key")

func sprintf(format string, args []any) string { return fmt.Sprintf(format, args...) }

// fieldKeys returns the encoded values that a document has for a field of an index.
func fieldKeys(raw []byte, field *indexField) (keys [][]byte, hasArrays bool) {
	value, found := lookupPath(raw, field.path)
	var values []bsoncore.Value
	switch found {
	case missing, scalar:
		return [][]byte{fieldKey(value, field)}, false
	case array:
		values = []bsoncore.Value{value}
	case throughs:
		values = valuesAt(nil, bsoncore.Value{Type: bsontype.EmbeddedDocument, Data: raw}, field.path)
	}
	for _, value := range values {
		if value.Type != bsontype.Array {
			keys = append(keys, fieldKey(value, field))
			continue
		}
		items := newElements(value.Data)
		isEmpty := true
		for items.next() {
			isEmpty = false
			keys = append(keys, fieldKey(items.value, field))
		}
		if isEmpty {
			keys = append(keys, invertIf([]byte{classEmptyArray}, field.Descending))
		}
	}
	if len(keys) == 0 {
		keys = append(keys, fieldKey(bsoncore.Value{}, field))
	}
	slices.SortFunc(keys, bytes.Compare)
	return slices.CompactFunc(keys, bytes.Equal), true
}

func fieldKey(value bsoncore.Value, field *indexField) []byte {
	return invertIf(appendValue(nil, value), field.Descending)
}

func invertIf(key []byte, inverted bool) []byte {
	if inverted {
		invert(key)
	}
	return key
}

// entriesOf returns the keys that a document has in an index, without the record's number, and the fields that are arrays.
func entriesOf(raw []byte, i *index) (keys [][]byte, arrays []int, err error) {
	keys = [][]byte{i.prefix}
	for f := range i.Fields {
		parts, hasArrays := fieldKeys(raw, &i.Fields[f])
		if hasArrays {
			arrays = append(arrays, f)
		}
		if len(keys)*len(parts) > maxEntries {
			return nil, nil, fmt.Errorf("more than %d entries in index %s", maxEntries, i.Name)
		}
		next := make([][]byte, 0, len(keys)*len(parts))
		for _, key := range keys {
			for _, part := range parts {
				next = append(next, append(append(make([]byte, 0, len(key)+len(part)+recordLength), key...), part...))
			}
		}
		keys = next
	}
	return keys, arrays, nil
}

// change is a set of writes to one collection that become visible together.
type change struct {
	store   *Store
	coll    *collection
	batch   *pebble.Batch
	indexes []*index
	marked  bool            // an index has a field with arrays that it did not have before
	taken   map[string]bool // unique keys that this change adds
}

func (s *Store) newChange(coll *collection) *change {
	return &change{store: s, coll: coll, batch: s.db.NewBatch(), indexes: *coll.indexes.Load(), taken: map[string]bool{}}
}

func (c *change) close() { _ = c.batch.Close() }

func (c *change) idKey(raw []byte) ([]byte, error) {
	id, ok := lookup(raw, "_id")
	if !ok {
		return nil, errors.New("document without _id")
	}
	return appendValue(slices.Clone(c.coll.idIndex.prefix), id), nil
}

// insert adds a document. It returns errDuplicate if a unique value is in use.
func (c *change) insert(raw []byte) error {
	idKey, err := c.idKey(raw)
	if err != nil {
		return err
	}
	if _, exists, err := c.store.recordByKey(c.store.db, idKey); err != nil {
		return err
	} else if exists || c.taken[string(idKey)] {
		return errDuplicate
	}
	c.taken[string(idKey)] = true
	record := c.coll.nextRecord
	c.coll.nextRecord++
	if err := c.batch.Set(idKey, binary.BigEndian.AppendUint64(nil, uint64(record)), nil); err != nil {
		return err
	}
	if err := c.batch.Set(recordKey(c.coll.prefix, record), raw, nil); err != nil {
		return err
	}
	return c.updateEntries(record, nil, raw)
}

// replace stores another content of the document with that _id. It returns false if it does not exist.
func (c *change) replace(raw []byte) (bool, error) {
	idKey, err := c.idKey(raw)
	if err != nil {
		return false, err
	}
	record, old, err := c.current(idKey)
	if err != nil || old == nil {
		return false, err
	}
	if err := c.batch.Set(recordKey(c.coll.prefix, record), raw, nil); err != nil {
		return false, err
	}
	return true, c.updateEntries(record, old, raw)
}

// remove deletes the document with that key in the index of _id. It returns false if it does not exist.
func (c *change) remove(idKey []byte) (bool, error) {
	record, old, err := c.current(idKey)
	if err != nil || old == nil {
		return false, err
	}
	if err := c.batch.Delete(idKey, nil); err != nil {
		return false, err
	}
	if err := c.batch.Delete(recordKey(c.coll.prefix, record), nil); err != nil {
		return false, err
	}
	return true, c.updateEntries(record, old, nil)
}

// current returns the record and a copy of the document that an _id has now.
func (c *change) current(idKey []byte) (int64, []byte, error) {
	record, exists, err := c.store.recordByKey(c.store.db, idKey)
	if err != nil || !exists {
		return 0, nil, err
	}
	value, closer, err := c.store.db.Get(recordKey(c.coll.prefix, record))
	if err != nil {
		return 0, nil, err
	}
	defer closer.Close()
	return record, slices.Clone(value), nil
}

// updateEntries writes what differs between the index entries of the old and the new content. nil means no document.
func (c *change) updateEntries(record int64, old, raw []byte) error {
	for position, i := range c.indexes {
		var before, after [][]byte
		var arrays []int
		var err error
		if old != nil {
			if before, _, err = entriesOf(old, i); err != nil {
				return err
			}
		}
		if raw != nil {
			if after, arrays, err = entriesOf(raw, i); err != nil {
				return err
			}
		}
		c.markArrays(position, arrays)
		for _, key := range before {
			if contains(after, key) {
				continue
			}
			if err := c.batch.Delete(appendRecord(key, record), nil); err != nil {
				return err
			}
		}
		for _, key := range after {
			if contains(before, key) {
				continue
			}
			if i.Unique {
				if err := c.takeUnique(key, record); err != nil {
					return err
				}
			}
			if err := c.batch.Set(appendRecord(key, record), nil, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func appendRecord(key []byte, record int64) []byte {
	return binary.BigEndian.AppendUint64(slices.Clip(key), uint64(record))
}

func contains(keys [][]byte, key []byte) bool {
	return slices.ContainsFunc(keys, func(other []byte) bool { return bytes.Equal(other, key) })
}

// takeUnique returns errDuplicate if another record has the key in a unique index.
func (c *change) takeUnique(key []byte, record int64) error {
	if c.taken[string(key)] {
		return errDuplicate
	}
	c.taken[string(key)] = true
	iter, err := c.store.db.NewIter(&pebble.IterOptions{LowerBound: key, UpperBound: prefixEnd(key)})
	if err != nil {
		return err
	}
	defer iter.Close()
	for iter.First(); iter.Valid(); iter.Next() {
		if recordOf(iter.Key()) != record {
			return errDuplicate
		}
	}
	return iter.Error()
}

// markArrays records fields of an index that hold arrays from now on.
func (c *change) markArrays(position int, arrays []int) {
	for _, f := range arrays {
		if c.indexes[position].Fields[f].HasArrays {
			continue
		}
		if !c.marked {
			c.indexes = slices.Clone(c.indexes)
			c.marked = true
		}
		marked := *c.indexes[position]
		marked.Fields = slices.Clone(marked.Fields)
		marked.Fields[f].HasArrays = true
		c.indexes[position] = &marked
	}
}

// commit makes the change visible. It survives the process after the next Flush.
func (c *change) commit() error {
	if c.marked {
		// Queries must know of arrays before they can meet one.
		c.coll.view.Lock()
		defer c.coll.view.Unlock()
		c.coll.indexes.Store(&c.indexes)
		if err := c.store.catalog.setIndexes(c.batch, c.coll, c.indexes); err != nil {
			return err
		}
	}
	return c.batch.Commit(pebble.NoSync)
}

// recordByKey returns the number of the record that the index of _id has under that key.
func (s *Store) recordByKey(reader pebble.Reader, idKey []byte) (int64, bool, error) {
	value, closer, err := reader.Get(idKey)
	if err == pebble.ErrNotFound {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer closer.Close()
	return int64(binary.BigEndian.Uint64(value)), true, nil
}

// buildIndex adds the entries of all documents of a collection to a new index. The caller holds the collection's write lock.
func (s *Store) buildIndex(coll *collection, i *index) error {
	build := &change{store: s, coll: coll, batch: s.db.NewBatch(), indexes: []*index{i}, taken: map[string]bool{}}
	defer func() { build.close() }()
	iter, err := s.db.NewIter(&pebble.IterOptions{LowerBound: coll.prefix, UpperBound: prefixEnd(coll.prefix)})
	if err != nil {
		return err
	}
	defer iter.Close()
	for iter.First(); iter.Valid(); iter.Next() {
		value, err := iter.ValueAndErr()
		if err != nil {
			return err
		}
		if err := build.updateEntries(recordOf(iter.Key()), nil, value); err != nil {
			return err
		}
		if build.batch.Len() > 1<<20 {
			if err := build.batch.Commit(pebble.NoSync); err != nil {
				return err
			}
			build.close()
			build.batch = s.db.NewBatch()
			build.taken = map[string]bool{}
		}
	}
	if err := iter.Error(); err != nil {
		return err
	}
	coll.view.Lock()
	defer coll.view.Unlock()
	all := append(slices.Clone(*coll.indexes.Load()), build.indexes[0])
	if err := s.catalog.setIndexes(build.batch, coll, all); err != nil {
		return err
	}
	if err := build.batch.Commit(pebble.NoSync); err != nil {
		return err
	}
	coll.indexes.Store(&all)
	return nil
}
