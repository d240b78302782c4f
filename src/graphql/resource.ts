/** Adds resources to the schema: the type, its fields of `Tenant`, its global ids and its removals. */
import type { ObjectRef } from '@pothos/core'
import { notFound, orNotFound } from '../domain/errors.ts'
import { exportOf } from '../domain/export.ts'
import type { Resource, ResourceRow } from '../domain/resource.ts'
import { builder, type Types } from './builder.ts'
import { exposeColumns } from './columns.ts'
import { pageComplexity, recordComplexity } from './complexity.ts'
import { readConnection, updatedSinceDescription } from './connection.ts'
import { type Reader, TenantTableLoaders } from './loaders.ts'
import { addNodeType, describePermissions } from './node-types.ts'
import { oneOperation } from './policy.ts'
import { recordKey } from './record-id.ts'
import { Tenant } from './tenant.ts'

/**
 * Adds a resource: its type with its columns, its list and its records by id on `Tenant`, its global ids and
 * its removals.
 *
 * @returns the type, to which its file can add the fields that are no columns
 */
export function addResource<Row extends ResourceRow>(resource: Resource<Row>): ObjectRef<Types, Row> {
  const ref = builder.objectRef<Row>(resource.type)
  addType(resource, ref)
  return ref
}

function addType(resource: Resource, ref: ObjectRef<Types, ResourceRow>): void {
  const { type, description, noun, permissions, columns, table, personalData } = resource
  const loadersOf = (reader: Reader) =>
    new TenantTableLoaders(reader, personalData ? exportOf(reader.caller, table) : table)
  const policy = { operations: oneOperation, permissions }
  const needs = describePermissions(permissions)

  builder.node(ref, {
    description,
    id: { resolve: recordKey, description: 'The global id.' },
    fields: t => exposeColumns(t, columns),
  })

  builder.objectFields(Tenant, t => ({
    [resource.list]: t.connection(
      {
        type: ref,
        nullable: true,
        description:
          `The ${noun}s of the tenant, by \`updatedAt\`${resource.unstampedFirst ? ' (null first)' : ''}, then \`id\`.` +
          needs,
        policy,
        complexity: pageComplexity,
        args: { updatedSince: t.arg({ type: 'DateTime', description: updatedSinceDescription }) },
        resolve: ({ id: tenantId }, args, context) => {
          const { pages, counts } = context.loaders.get(loadersOf)
          return readConnection(context, resource.listOf(tenantId), args, {
            page: range => pages.load({ tenantId, range }),
            count: updatedSince => counts.load({ tenantId, updatedSince }),
          })
        },
      },
      { name: `${type}Connection` },
      { name: `${type}Edge` },
    ),
    [resource.field]: t.field({
      type: ref,
      nullable: true,
      description: `One ${noun} of the tenant.${needs}`,
      policy,
      complexity: recordComplexity,
      args: { id: t.arg.id({ required: true, description: 'Its numeric or its global id.' }) },
      resolve: ({ id: tenantId }, args, { loaders }) => {
        const id = args.id.idWithin(type, tenantId)
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
}
