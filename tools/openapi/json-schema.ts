import { z } from 'zod'

/** A JSON Schema of draft 2020-12, as OpenAPI 3.1 takes it. */
export type JsonSchema = z.core.JSONSchema.BaseSchema

/** Returns a reference to a schema of the document. */
export const schemaRef = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

/** Returns the schema of values that can also be null. */
export function orNull(schema: JsonSchema): JsonSchema {
  const { type, ...others } = schema
  return typeof type === 'string' ? { type: [type, 'null'], ...others } : { anyOf: [schema, { type: 'null' }] }
}

/**
 * Returns the JSON Schema of the input of a zod schema. A schema with a format has no pattern, which would only repeat
 * the format.
 */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...described } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern
    },
  })
  return described
}
