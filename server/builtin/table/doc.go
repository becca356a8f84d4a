// Package table makes kubectl's tables of objects.
//
// From a resource's columns and a function that makes the row of an object, [New] makes a rest.TableConvertor. It
// turns an object or a list into a metav1.Table. Every row holds its whole object; the handler decides how much of it
// is sent: nothing, its metadata, or all.
//
// Tables hold every column. The client leaves out columns of a priority above 0 unless the user requests a wide
// table.
package table
