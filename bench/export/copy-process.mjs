/**
 * Pipes a COPY through Node, which is the minimum work of a program that passes a table on. Answers each request with
 * one copy of `STATEMENT`, in the database at the address in libpq's variables.
 */
import { createServer } from 'node:http'
import { pipeline } from 'node:stream/promises'
import postgres from '../../dist/postgres/index.js'

const server = createServer(async (_request, response) => {
  // postgres.js does not use a connection again after a COPY.
  const sql = postgres({ max: 1 })
  const rows = await sql.unsafe(`copy (${process.env.STATEMENT}) to stdout`).readable()
  await pipeline(rows, response)
  void sql.end({ timeout: 0 })
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
process.stdin.on('end', () => process.exit()).resume()
