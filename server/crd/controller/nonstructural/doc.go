// Package nonstructural says of a definition whose schema is not structural that it isn't, and why.
//
// What comes in are the definitions as lister knows them. What goes out is the condition NonStructuralSchema, which is there
// only while there is something to complain of. A v1 definition with such a schema is refused; but one that an older server
// stored is still served, without what needs a structural schema: pruning, defaults, publication.
//
// # Invariants
//
//  1. Each generation of a definition is judged once in each process: schemas are large, and servers of different versions
//     that judge differently must not take turns.
package nonstructural
