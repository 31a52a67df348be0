package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/google/uuid"
)

// The key space. Numbers are big endian, so that keys of one collection or index are neighbours.
//
//	c <database> 0x00 <collection>          the collection's entry in the catalog, as JSON
//	n                                       the next number for a collection or an index
//	s <database>                            says that the SQLite file of this database has been imported
//	d <collection> <record>                 a document, as BSON
//	i <collection> 0 <_id>                  the index of _id: the value is the record's number
//	i <collection> <index> <fields> <record> any other index; no value
const (
	prefixCatalog  = 'c'
	prefixNumber   = 'n'
	prefixImported = 's'
	prefixDocument = 'd'
	prefixIndex    = 'i'
)

const recordLength = 8

// indexField is one field of an index.
type indexField struct {
	Field      string `json:"field"`
	Descending bool   `json:"descending,omitempty"`
	// HasArrays says that the field was an array in a document once: a document may have several entries.
	HasArrays bool `json:"hasArrays,omitempty"`
	path      []string
}

// index is an index of a collection. It is replaced and never changed, so that readers need no lock.
type index struct {
	Number uint32       `json:"number"`
	Name   string       `json:"name"`
	Fields []indexField `json:"fields"`
	Unique bool         `json:"unique,omitempty"`
	prefix []byte
	isID   bool
}

func (i *index) hasArrays() bool {
	return slices.ContainsFunc(i.Fields, func(field indexField) bool { return field.HasArrays })
}

// entry is what the catalog holds of a collection.
type entry struct {
	Number  uint32   `json:"number"`
	UUID    string   `json:"uuid"`
	Indexes []*index `json:"indexes"`
}

// collection is a collection in memory.
type collection struct {
	database, name string
	number         uint32
	uuid           string
	prefix         []byte // of its documents
	idIndex        *index
	indexes        atomic.Pointer[[]*index]
	// view is held while a reader takes a snapshot with its indexes, and while the indexes change.
	view       sync.RWMutex
	nextRecord int64      // protected by write
	write      sync.Mutex // held by the command that writes
}

// catalog holds all collections in memory, and stores them.
type catalog struct {
	db         *pebble.DB
	mutex      sync.RWMutex
	databases  map[string]map[string]*collection
	nextNumber uint32
}

func catalogKey(database, name string) []byte {
	return append(append(append([]byte{prefixCatalog}, database...), 0), name...)
}

func numberedPrefix(kind byte, numbers ...uint32) []byte {
	prefix := []byte{kind}
	for _, number := range numbers {
		prefix = binary.BigEndian.AppendUint32(prefix, number)
	}
	return prefix
}

func (i *index) prepare(collection uint32) *index {
	i.prefix = numberedPrefix(prefixIndex, collection, i.Number)
	for f := range i.Fields {
		i.Fields[f].path = splitPath(i.Fields[f].Field)
	}
	return i
}

func openCatalog(db *pebble.DB) (*catalog, error) {
	c := &catalog{db: db, databases: map[string]map[string]*collection{}, nextNumber: 1}
	if value, closer, err := db.Get([]byte{prefixNumber}); err == nil {
		c.nextNumber = binary.BigEndian.Uint32(value)
		closer.Close()
	} else if err != pebble.ErrNotFound {
		return nil, err
	}
	iter, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{prefixCatalog}, UpperBound: []byte{prefixCatalog + 1}})
	if err != nil {
		return nil, err
	}
	defer iter.Close()
	for iter.First(); iter.Valid(); iter.Next() {
		database, name, _ := bytes.Cut(iter.Key()[1:], []byte{0})
		var stored entry
		if err := json.Unmarshal(iter.Value(), &stored); err != nil {
			return nil, fmt.Errorf("catalog entry of %s.%s: %w", database, name, err)
		}
		opened, err := c.open(string(database), string(name), &stored)
		if err != nil {
			return nil, err
		}
		c.add(opened)
	}
	return c, iter.Error()
}

// open returns the collection of a catalog entry, with the number that its next record gets.
func (c *catalog) open(database, name string, stored *entry) (*collection, error) {
	opened := &collection{database: database, name: name, number: stored.Number, uuid: stored.UUID}
	opened.prefix = numberedPrefix(prefixDocument, stored.Number)
	opened.idIndex = (&index{Name: "_id_", Fields: []indexField{{Field: "_id"}}, isID: true}).prepare(stored.Number)
	for _, i := range stored.Indexes {
		i.prepare(stored.Number)
	}
	opened.indexes.Store(&stored.Indexes)
	iter, err := c.db.NewIter(&pebble.IterOptions{LowerBound: opened.prefix, UpperBound: prefixEnd(opened.prefix)})
	if err != nil {
		return nil, err
	}
	defer iter.Close()
	opened.nextRecord = 1
	if iter.Last() {
		opened.nextRecord = recordOf(iter.Key()) + 1
	}
	return opened, iter.Error()
}

func (c *catalog) add(opened *collection) {
	if c.databases[opened.database] == nil {
		c.databases[opened.database] = map[string]*collection{}
	}
	c.databases[opened.database][opened.name] = opened
}

// get returns a collection, nil if it does not exist.
func (c *catalog) get(database, name string) *collection {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	return c.databases[database][name]
}

// databaseNames returns the names of all databases, sorted.
func (c *catalog) databaseNames() []string {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	return slices.Sorted(maps.Keys(c.databases))
}

// collections returns the collections of a database, sorted by name.
func (c *catalog) collections(database string) []*collection {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	all := slices.Collect(maps.Values(c.databases[database]))
	slices.SortFunc(all, func(a, b *collection) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	return all
}

// create adds a collection. The second result is false if it already exists.
func (c *catalog) create(database, name string) (*collection, bool, error) {
	if existing := c.get(database, name); existing != nil {
		return existing, false, nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if existing := c.databases[database][name]; existing != nil {
		return existing, false, nil
	}
	batch := c.db.NewBatch()
	defer batch.Close()
	stored := &entry{Number: c.takeNumber(batch), UUID: uuid.NewString()}
	if err := c.save(batch, database, name, stored); err != nil {
		return nil, false, err
	}
	if err := batch.Commit(pebble.NoSync); err != nil {
		return nil, false, err
	}
	opened, err := c.open(database, name, stored)
	if err != nil {
		return nil, false, err
	}
	c.add(opened)
	return opened, true, nil
}

// takeNumber returns a number that no collection and no index ever had. The caller holds the mutex.
func (c *catalog) takeNumber(batch *pebble.Batch) uint32 {
	number := c.nextNumber
	c.nextNumber++
	_ = batch.Set([]byte{prefixNumber}, binary.BigEndian.AppendUint32(nil, c.nextNumber), nil)
	return number
}

func (c *catalog) save(batch *pebble.Batch, database, name string, stored *entry) error {
	value, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	return batch.Set(catalogKey(database, name), value, nil)
}

func (coll *collection) stored(indexes []*index) *entry {
	return &entry{Number: coll.number, UUID: coll.uuid, Indexes: indexes}
}

// setIndexes stores the indexes of a collection with the batch that the caller commits.
func (c *catalog) setIndexes(batch *pebble.Batch, coll *collection, indexes []*index) error {
	return c.save(batch, coll.database, coll.name, coll.stored(indexes))
}

// remove deletes a collection with all its documents and index entries. It returns false if it does not exist.
func (c *catalog) remove(database, name string) (bool, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	removed := c.databases[database][name]
	if removed == nil {
		return false, nil
	}
	batch := c.db.NewBatch()
	defer batch.Close()
	if err := c.removeFrom(batch, removed); err != nil {
		return false, err
	}
	if err := batch.Commit(pebble.NoSync); err != nil {
		return false, err
	}
	delete(c.databases[database], name)
	return true, nil
}

func (c *catalog) removeFrom(batch *pebble.Batch, removed *collection) error {
	if err := batch.Delete(catalogKey(removed.database, removed.name), nil); err != nil {
		return err
	}
	for _, prefix := range [][]byte{removed.prefix, numberedPrefix(prefixIndex, removed.number)} {
		if err := batch.DeleteRange(prefix, prefixEnd(prefix), nil); err != nil {
			return err
		}
	}
	return nil
}

// removeDatabase deletes a database with all its collections. It returns false if it does not exist.
func (c *catalog) removeDatabase(database string) (bool, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	collections, exists := c.databases[database]
	if !exists {
		return false, nil
	}
	batch := c.db.NewBatch()
	defer batch.Close()
	for _, removed := range collections {
		if err := c.removeFrom(batch, removed); err != nil {
			return false, err
		}
	}
	if err := batch.Commit(pebble.NoSync); err != nil {
		return false, err
	}
	delete(c.databases, database)
	return true, nil
}

// rename changes the name of a collection in its database.
func (c *catalog) rename(coll *collection, name string) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	batch := c.db.NewBatch()
	defer batch.Close()
	if err := batch.Delete(catalogKey(coll.database, coll.name), nil); err != nil {
		return err
	}
	if err := c.save(batch, coll.database, name, coll.stored(*coll.indexes.Load())); err != nil {
		return err
	}
	if err := batch.Commit(pebble.NoSync); err != nil {
		return err
	}
	delete(c.databases[coll.database], coll.name)
	coll.name = name
	c.add(coll)
	return nil
}

func recordKey(prefix []byte, record int64) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, len(prefix)+recordLength), prefix...), uint64(record))
}

// recordOf returns the number of the record that a key of a document or of an index ends with.
func recordOf(key []byte) int64 {
	return int64(binary.BigEndian.Uint64(key[len(key)-recordLength:]))
}
