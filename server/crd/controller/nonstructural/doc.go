// Package nonstructural reports definitions whose schema is not structural.
//
// In come definitions from the lister. Out goes the condition NonStructuralSchema, which exists only while a
// schema has violations. A new v1 definition with such a schema is refused. One that an older server stored is
// still served, but without the features that need a structural schema: pruning, defaults, and publication.
//
// # Invariants
//
//  1. Each generation of a definition is judged once in each process: schemas are large, and servers of
//     different versions that judge differently must not take turns.
package nonstructural
