/** Finds, in the source code of the service, the columns that its statements write and the functions that they call. */
import { readdir, readFile } from 'node:fs/promises'

interface Writes {
  insert: Set<string>
  /** The columns that `update` statements set. */
  update: Set<string>
  deletes: boolean
}

export const noWrites = (): Writes => ({ insert: new Set(), update: new Set(), deletes: false })

/** Columns whose names are a parameter of the function with the statement, by table. */
const namesFromParameters: Record<string, readonly string[]> = {
  'gateway.audit_entry': ['administrator_id', 'token_id'],
}

/** Reads the source code of the service. @returns the writes by qualified table name, such as `gateway.token` */
export async function readWrites(): Promise<Map<string, Writes>> {
  const writes = new Map<string, Writes>()
  // These sources are left out: their statements run as the owner.
  for (const text of await readSources(
    /^src\/(db\/migration\/(migrate|migrations|upgrade-statements|definitions)|reason-list|staging\/)/,
  ))
    collectWrites(text, writes)
  return writes
}

/** Reads the source files whose statements run under the role of the service. */
export const readServiceSources = async () =>
  (
    await readSources(
      /^src\/(db\/(migration\/(migrate|migrations|upgrade-statements|definitions)|mapping\/)|cli\/adopt|staging\/|adoption\/(?!fill))/,
    )
  ).join('\n')

const readSources = async (ofOwner = /^$/) => {
  const sources = await readdir('src', { recursive: true, withFileTypes: true })
  const paths = sources.map(({ name, parentPath }) => `${parentPath}/${name}`)
  return Promise.all(
    paths.filter(path => /\.tsx?$/.test(path) && !ofOwner.test(path)).map(path => readFile(path, 'utf8')),
  )
}

/** Reads all source files and the pages of docs/, whose statements a command or an operator runs. */
export const readSourcesAndDocs = async () => {
  const pages = (await readdir('docs')).filter(name => name.endsWith('.md'))
  return [...(await readSources()), ...(await Promise.all(pages.map(name => readFile(`docs/${name}`, 'utf8'))))].join(
    '\n',
  )
}

export const calledFunctions = (text: string): string[] =>
  [...text.matchAll(/gateway\.(\w+)\(/g)].map(([, name = '']) => name)

const writeVerbs = /\b(?:insert into|update|delete from) (gateway\.\w+)|\bdo update set /g

function collectWrites(source: string, writes: Map<string, Writes>): void {
  const text = replaceValues(source.replaceAll(/\/\*.*?\*\/ /g, '')).replaceAll(/\s+/g, ' ')
  let inserted = ''
  for (const { 0: found, 1: table = inserted, index } of text.matchAll(writeVerbs)) {
    const rest = text.slice(index + found.length)
    const of = writes.get(table) ?? noWrites()
    writes.set(table, of)
    if (found.startsWith('delete')) of.deletes = true
    else if (found.startsWith('insert')) {
      inserted = table
      const [, columns] = /^(?: as \w+)? \(([^)]*)\)/.exec(rest) ?? []
      if (columns === undefined) throw new Error(`An insert into ${table} names no columns.`)
      for (const name of namesIn(table, columns.split(','))) of.insert.add(name)
    } else {
      const start = found.startsWith('do') ? 0 : (/^(?: as \w+)? set /.exec(rest)?.[0].length ?? -1)
      if (start < 0) throw new Error(`An update of ${table} sets nothing.`)
      for (const name of namesIn(table, assignmentsOf(rest.slice(start)))) of.update.add(name)
    }
  }
}

/**
 * Replaces each placeholder of a template by a question mark. A template inside a placeholder stays, because it is SQL
 * too.
 */
function replaceValues(text: string): string {
  const plain = text.replaceAll(/\$?\{([^{}]*)\}/g, (_, inner) => (inner.includes('`') ? `(${inner})` : '?'))
  return plain === text ? text : replaceValues(plain)
}

/** Returns the assignments at the start of a text, up to the end of the `set` clause. */
function assignmentsOf(text: string): string[] {
  const assignments = ['']
  let depth = 0
  for (const [token] of text.matchAll(/\w+|./g)) {
    depth += token === '(' ? 1 : token === ')' ? -1 : 0
    if (depth < 0 || token === '`' || (depth === 0 && /^(where|from|returning)$/.test(token))) break
    if (depth === 0 && token === ',') assignments.push('')
    else assignments.push(assignments.pop() + token)
  }
  return assignments
}

const namesIn = (table: string, parts: readonly string[]): string[] =>
  parts.flatMap(part => {
    if (part.trim() === '?') return namesFromParameters[table] ?? [part]
    const [, name] = /^\s*(\w+)\s*(?:=|$)/.exec(part) ?? []
    if (name === undefined) throw new Error(`A statement writes "${part}" of ${table}, which has no name.`)
    return [name]
  })
