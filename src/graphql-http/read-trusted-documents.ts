// Reads the trusted documents of our own pages and of the operator.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { type Reason, ReasonError, reason } from '../reasons.ts'
import { findProblems } from './document.ts'
import { documentIdOf, TrustedDocuments } from './trusted-documents.ts'

const ApolloManifest = z.object({
  format: z.literal('apollo-persisted-query-manifest'),
  operations: z.array(z.object({ id: z.string(), body: z.string() })),
})

/** The documents by id or by hash, the format of GraphQL Code Generator and Relay. */
const Manifest = z.record(z.string(), z.string())

interface FoundDocument {
  /** The file and the place of the document in it, for error messages. */
  place: string
  text: string
  /** The id or hash in its manifest, or null. */
  id: string | null
}

type Refuse = (place: string, problem: string) => void

/**
 * Reads the trusted documents.
 *
 * @param path a file or a directory with documents of the operator (`.graphql`, `.gql`), or with manifests of such
 *   documents (`.json`)
 * @param admitsOthers whether documents that are not trusted may run
 * @throws ReasonError that lists all documents that cannot run
 */
export function readTrustedDocuments(path: string | undefined, admitsOthers: boolean): TrustedDocuments {
  const own = Manifest.parse(JSON.parse(readFileSync(ownDocuments, 'utf8')))
  const texts = new Map(Object.entries(own))
  const reasons: Reason[] = []
  const refuse: Refuse = (place, problem) => reasons.push(reason('DOCUMENT_INVALID', { place, problem }))
  const found = path === undefined ? [] : readDocuments(path, refuse)
  for (const { place, text, id } of found) {
    const actual = documentIdOf(text)
    texts.set(actual, text)
    if (id !== null && id !== actual && `sha256:${id}` !== actual) {
      refuse(place, `The id must be the SHA-256 of the text, ${actual}.`)
    }
    for (const problem of findProblems(text)) refuse(place, problem)
  }
  if (path !== undefined && found.length === 0 && reasons.length === 0) refuse(path, 'No document was found.')
  if (reasons.length > 0) throw new ReasonError(reasons)
  return new TrustedDocuments(texts, admitsOthers)
}

const ownDocuments = new URL('../../schema/trusted-documents.json', import.meta.url)

/** Reads the documents of a file, or of a directory and its subdirectories. @param refuse called for each problem */
function readDocuments(path: string, refuse: Refuse): FoundDocument[] {
  try {
    const names = statSync(path).isDirectory() ? readdirSync(path, { recursive: true, encoding: 'utf8' }).sort() : null
    const files = names ? names.map(name => join(path, name)) : [path]
    return files.filter(file => /\.(graphql|gql|json)$/.test(file)).flatMap(file => readFile(file, refuse))
  } catch (error) {
    refuse(path, `It cannot be read (${codeOf(error)}).`)
    return []
  }
}

function readFile(file: string, refuse: Refuse): FoundDocument[] {
  try {
    const text = readFileSync(file, 'utf8')
    if (!file.endsWith('.json')) return [{ place: file, text, id: null }]
    const json: unknown = JSON.parse(text)
    const apollo = ApolloManifest.safeParse(json)
    const entries = apollo.success
      ? apollo.data.operations.map(({ id, body }) => [id, body] as const)
      : Object.entries(Manifest.parse(json))
    return entries.map(([id, body]) => ({ place: `${file}, ${id}`, text: body, id }))
  } catch (error) {
    const isForm = error instanceof SyntaxError || error instanceof z.ZodError
    refuse(file, isForm ? 'It is no JSON object of documents by their id.' : `It cannot be read (${codeOf(error)}).`)
    return []
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error)
