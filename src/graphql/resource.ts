import type { ObjectRef } from '@pothos/core'
import { notFound, orNotFound } from '../domain/errors.ts'
import { withExportAudit } from '../domain/record/export.ts'
import type { Resource, ResourceRow } from '../domain/record/resource.ts'
import { withSharedStatements } from '../domain/record/shared-table.ts'
import { costOfSearch } from '../domain/search/search.ts'
import { type BuilderTypes, builder } from './builder.ts'
import { exposeColumns } from './columns.ts'
import { pageComplexity, recordComplexity } from './complexity.ts'
import { matchedFieldsOf, readConnection, updatedSinceDescription } from './connection.ts'
import { recordIdIn, recordKey } from './global-id.ts'
import { createTableLoaders, type Reader } from './loaders.ts'
import { addNodeType, describePermissions, typeNameOf } from './node-types.ts'
import { addSearchInputs, addTextFields, readSearchArguments, searchArgs, searchResource } from './search.ts'
import { Tenant } from './tenant.ts'

function addConnection<Row extends ResourceRow>({ noun, search }: Resource<Row>, record: ObjectRef<BuilderTypes, Row>) {
  const type = typeNameOf(noun)
  const TextField = search && addTextFields(type, search)
  return builder.connectionObject(
    { type: record, name: `${type}Connection` },
    {
      name: `${type}Edge`,
      ...(TextField && {
        fields: t => ({
          matchedFields: t.field({
            type: [TextField],
            description: 'The fields that contain a word of `text` in the filter; empty without `text`.',
            resolve: edge => matchedFieldsOf(edge),
          }),
        }),
      }),
    },
  )
}

const resources = new Map<string, Resource>()

/** Returns the resource whose list is this field of `Tenant`; undefined for another field. */
export const findResource = (field: string): Resource | undefined => resources.get(field)

/** Returns the fields of `Tenant` that are lists of resources. */
export const resourceLists = (): string[] => [...resources.keys()]

/**
 * Adds a resource to the schema: a type with the columns, the list and the record by id on `Tenant`, global ids, and
 * removals.
 *
 * @returns the types of its records and of its lists, and the inputs of its filters and orders; null when the resource
 *   has none
 */
export function addResource<Row extends ResourceRow>(resource: Resource<Row>) {
  const record = builder.objectRef<Row>(typeNameOf(resource.noun))
  resources.set(resource.listOf(0).name, resource)
  const connection = addConnection(resource, record)
  return { record, connection, inputs: addType(resource, record, connection) }
}

/** Returns the inputs of the resource's filters and orders, or null. */
function addType(
  resource: Resource,
  ref: ObjectRef<BuilderTypes, ResourceRow>,
  connection: ReturnType<typeof addConnection<ResourceRow>>,
) {
  const { description, noun, permissions, columns, table, personalData, search } = resource
  const type = typeNameOf(noun)
  const field = type.charAt(0).toLowerCase() + type.slice(1)
  const sharedBy = withSharedStatements(table)
  const loadersOf = (reader: Reader) => {
    const read = sharedBy(reader.group)
    return createTableLoaders(reader, personalData ? withExportAudit(reader, read, reader.group) : read)
  }
  const policy = { cost: 1, permissions }
  const needs = describePermissions(permissions)

  builder.node(ref, {
    description,
    id: { resolve: recordKey, description: 'The global id.' },
    fields: t => ({
      ...exposeColumns(t, columns),
      tenant: t.field({
        type: Tenant,
        nullable: true,
        description: 'The tenant that it belongs to.',
        resolve: ({ tenantId }) => ({ id: tenantId }),
      }),
    }),
  })

  const inputs = search && addSearchInputs(type, search)
  const cost = (args: Record<string, unknown>) => {
    const wanted = search && readSearchArguments(search, args)
    return wanted ? costOfSearch(search, wanted) : 1
  }

  builder.objectFields(Tenant, t => ({
    [`${field}s`]: t.connection(
      {
        type: ref,
        nullable: true,
        description: `The ${noun}s of the tenant, by \`updatedAt\`, then \`id\`.${needs}`,
        policy: { ...policy, cost },
        complexity: pageComplexity,
        args: {
          updatedSince: t.arg({ type: 'DateTime', description: updatedSinceDescription }),
          ...(inputs && searchArgs(t.arg, inputs, noun, 'this one')),
        },
        resolve: ({ id: tenantId }, args, context) => {
          const wanted = search && readSearchArguments(search, args)
          if (wanted) return searchResource(context, resource, tenantId, wanted, args)
          const { pages, counts } = context.loaders.get(loadersOf)
          return readConnection(context, resource.listOf(tenantId), args, {
            page: window => pages.load({ tenantId, window }),
            total: updatedSince => counts.load({ tenantId, updatedSince }),
          })
        },
      },
      connection,
    ),
    [field]: t.field({
      type: ref,
      nullable: true,
      description: `One ${noun} of the tenant.${needs}`,
      policy,
      complexity: recordComplexity,
      args: { id: t.arg.id({ required: true, description: 'Its numeric or its global id.' }) },
      resolve: ({ id: tenantId }, args, { loaders }) => {
        const id = recordIdIn(args.id, type, tenantId)
        if (id === null) throw notFound(noun)
        return loaders.get(loadersOf).records.load({ tenantId, id }).then(orNotFound(noun))
      },
    }),
  }))

  addNodeType({
    ...resource,
    removedRecord: `One of the ${noun}s.${needs}`,
    find: ({ loaders }, { tenantId, id }) => loaders.get(loadersOf).records.load({ tenantId, id }),
  })
  return inputs
}
