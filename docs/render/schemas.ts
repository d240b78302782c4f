// The guides that the build writes: the fields of REST v1, and the types of GraphQL, from the files of `schema/`.
import { readFileSync } from 'node:fs'
import {
  buildSchema,
  type GraphQLNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
} from 'graphql'

const read = (name: string) => readFileSync(new URL(`../../schema/${name}`, import.meta.url), 'utf8')

const cell = (text: string | null | undefined) => (text ?? '').replaceAll('|', '\\|').replaceAll(/\s+/g, ' ')

/** Returns a table in Markdown. */
const table = (names: readonly string[], rows: readonly (readonly string[])[]) =>
  [names, names.map(() => '---'), ...rows].map(row => `| ${row.map(cell).join(' | ')} |\n`).join('')

/** A part of a JSON Schema, as the OpenAPI document has it. */
interface Schema {
  $ref?: string
  type?: string | string[]
  format?: string
  items?: Schema
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
}

const nameOf = (reference: string) => reference.replace(/^.*\//, '')

/** Returns the name of a record in words: `Purchased voucher`. */
const inWords = (name: string) => name.replaceAll(/(?<=[a-z])[A-Z]/g, letter => ` ${letter.toLowerCase()}`)

function typeOf({ $ref, type, format, items }: Schema): string {
  if ($ref) return inWords(nameOf($ref))
  if (items) return `array of ${typeOf(items)}`
  return [type]
    .flat()
    .join(' or ')
    .replace(/^string/, /^date/.test(format ?? '') ? String(format) : 'string')
}

/** Returns the fields of REST v1 as Markdown. */
export function describeFields(): string {
  const document: { components: { schemas: Record<string, Schema> } } = JSON.parse(read('openapi.v1.json'))
  const records = Object.entries(document.components.schemas).filter(([name]) => !/(Page|Response|Line)$/.test(name))
  const parts = records.map(([name, { description, properties = {}, required = [] }]) => {
    const rows = Object.entries(properties).map(([field, schema]) => [
      `\`${field}\``,
      `${typeOf(schema)}${required.includes(field) ? '' : ', optional'}`,
      schema.description ?? '',
    ])
    return `## ${inWords(name)}\n\n${description}\n\n${table(['Field', 'Type', 'Meaning'], rows)}`
  })
  return `# Fields of v1\n\nThe records of REST v1, of its errors, of the lines of a bulk export and of [events](/docs/events). An optional field is left out when it has no value. \`date-time\` is an instant in UTC, \`2026-01-31T09:30:00.000000Z\`; \`date\` is a calendar day. The operations are in the [API reference](/docs/reference).\n\n${parts.join('\n')}`
}

/** Returns the types of the GraphQL schema as Markdown. */
export function describeTypes(): string {
  const types = Object.values(buildSchema(read('schema.graphql')).getTypeMap())
  const own = types.filter(type => !isIntrospectionType(type) && !isSpecifiedScalarType(type))
  const parts = own.map(type => `## ${type.name}\n\n${type.description ?? ''}\n\n${membersOf(type)}`)
  return `# Types of GraphQL\n\nThe schema at \`/graphql\`. A type that ends in \`!\` is never null. [Downloads](/docs/downloads) has the schema as a file.\n\n${parts.join('\n')}`
}

function membersOf(type: GraphQLNamedType): string {
  if (isEnumType(type)) {
    const rows = type.getValues().map(({ name, description }) => [`\`${name}\``, description ?? ''])
    return table(['Value', 'Meaning'], rows)
  }
  if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) return ''
  const rows = Object.values(type.getFields()).map(field => {
    const given: readonly { name: string }[] = 'args' in field ? field.args : []
    const names = given.map(({ name }) => `\`${name}\``).join(', ')
    const meaning = `${field.description ?? ''}${names && ` Arguments: ${names}.`}`
    return [`\`${field.name}\``, `\`${field.type}\``, meaning]
  })
  return table(['Field', 'Type', 'Meaning'], rows)
}
