// Package class helps teachers: it checks machines before a class ([Machine]), prints lessons ([Handout]), and
// collects the progress of learners ([Report]) in one table ([Table]).
//
// It reads lessons, the learner's progress, and the files that learners hand in, and writes text. It sends nothing
// anywhere: learners decide who gets their report.
//
// # Invariants
//
//  1. A handout contains no solutions, and marks no answer as right. Its page loads nothing and runs nothing.
//  2. A report only repeats the learner's progress file. It carries no signature.
//  3. Files that learners hand in are not trusted: their size is limited, and control characters in them are escaped.
package class
