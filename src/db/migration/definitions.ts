/**
 * Creates or replaces the functions, procedures, views and triggers from their files in `sql/functions`, so that a
 * later version can change them without a migration.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { version } from '../../version.ts'
import type { Sql } from '../sql.ts'

/** A file of `sql/functions`. */
export interface Definition {
  /** The path of the file below `sql/functions`. */
  file: string
  text: string
  md5: string
}

const functionsFolder = fileURLToPath(new URL('../../../sql/functions', import.meta.url))

/** Read only once, because the files of a running service do not change. */
let own: Definition[] | undefined

/** Returns the definitions in an order in which PostgreSQL can create them. */
export const readDefinitions = (): Definition[] => (own ??= sortByDependency(readFiles()))

/**
 * Returns whether a file is a template. The database makes one function per type of records or per source from a
 * template.
 */
const isTemplate = (file: string) => file.endsWith('.template.sql')

const insertTemplate = (file: string, content: string) =>
  `insert /* definition.keep_template */ into gateway.template (name, text)
values ('${basename(file, '.template.sql')}', $template$${content}$template$)
on conflict (name) do update set text = excluded.text;`

const readFiles = () =>
  readdirSync(functionsFolder, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.sql'))
    .map(file => file.replaceAll('\\', '/'))
    .sort()
    .map(file => {
      const content = readFileSync(`${functionsFolder}/${file}`, 'utf8')
      const text = isTemplate(file) ? insertTemplate(file, content) : content
      return { file, text, md5: createHash('md5').update(text).digest('hex') }
    })

/**
 * Sorts files so that each definition comes after the definitions that it names. PostgreSQL reads the quoted body of a
 * function only when it runs, so the files with calls come last.
 */
function sortByDependency(files: Definition[]): Definition[] {
  const byName = new Map(files.map(one => [basename(one.file, '.sql'), one]))
  const sorted = new Set<Definition>()
  const open = new Set<Definition>()
  const add = (one: Definition) => {
    if (sorted.has(one)) return
    if (open.has(one)) throw new Error(`sql/functions/${one.file} needs itself.`)
    open.add(one)
    const looked = one.text.replaceAll(/^ *--.*/gm, '').replaceAll(/(\$\w*\$).*?\1/gs, '')
    for (const [, name = ''] of looked.matchAll(/\bgateway\.(\w+)/g)) {
      const needed = byName.get(name)
      if (needed && needed !== one) add(needed)
    }
    open.delete(one)
    sorted.add(one)
  }
  const isCall = ({ file, text }: Definition) => !isTemplate(file) && /^call /m.test(text)
  for (const one of files.filter(one => !isCall(one))) add(one)
  for (const one of files) add(one)
  return [...sorted]
}

/** The bodies of functions call each other, so PostgreSQL must not check a body when it creates the function. */
const preparation = 'set /* definition.prepare */ local check_function_bodies = off;'

/** Returns the statement that records the definitions that this release has made. */
const recordStatement = (definitions: readonly Definition[]) =>
  `insert /* definition.record */ into gateway.definition (file, md5, release)
values ${definitions.map(({ file, md5 }) => `('${file}', '${md5}', '${version}')`).join(',\n       ')}
on conflict (file) do update set md5 = excluded.md5, release = excluded.release;`

/**
 * Creates or replaces definitions in the transaction of the caller, and records them.
 *
 * @throws an error of the database that names the file
 */
export async function makeDefinitions(transaction: Sql, definitions: readonly Definition[]): Promise<void> {
  if (definitions.length === 0) return
  await transaction.unsafe(preparation).simple()
  for (const { file, text } of definitions) {
    await transaction
      .unsafe(text)
      .simple()
      .catch((error: Error) => {
        error.message = `sql/functions/${file}: ${error.message}`
        throw error
      })
  }
  await transaction.unsafe(recordStatement(definitions)).simple()
}

/** Returns the SQL that `makeDefinitions` runs. */
export const describeDefinitions = (definitions: readonly Definition[]): string[] =>
  definitions.length === 0
    ? []
    : [preparation, ...definitions.map(({ text }) => text.trimEnd()), recordStatement(definitions)]
