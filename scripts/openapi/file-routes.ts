// /files/{path} in the OpenAPI document: files as plain HTTP resources.
import { Contention } from '../../schemas/contention.ts'
import { contract } from '../../schemas/contract.ts'
import type { ErrorCode } from '../../schemas/errors.ts'
import { routes } from '../../schemas/routes.ts'
import { changeErrors, pathErrors } from '../../src/operations/definition/define.ts'
import type { JsonObject } from './components.ts'
import { describeQuery } from './query.ts'
import { describeRefusals, jsonContent, type Workshop } from './responses.ts'

const door: readonly ErrorCode[] = ['INVALID_REQUEST', 'UNAUTHORIZED', 'FORBIDDEN_ORIGIN', 'METHOD_NOT_ALLOWED']
const change: readonly ErrorCode[] = [...door, ...changeErrors, 'OVERLOADED', 'UNSUPPORTED_MEDIA_TYPE']

const header = (name: string, description: string, schema: JsonObject = { type: 'string' }): JsonObject => ({
  name,
  in: 'header',
  required: false,
  description,
  schema
})

const path: JsonObject = {
  name: 'path',
  in: 'path',
  required: true,
  description: 'The path below the first root, slashes included; behind a second slash an absolute one.',
  schema: { type: 'string' }
}
const agent: JsonObject = { $ref: '#/components/parameters/AgentId' }
const once: JsonObject = { $ref: '#/components/parameters/IdempotencyKey' }
const ifMatch = header('If-Match', 'The ETag of the version that is changed. Another one is 412.')
const prefer = header('Prefer', '`wait=<seconds>` for the file at most; `merge` with the changes of others.')
const accept = header('Accept', '`text/x-diff` to get the difference of a late change as a unified diff.')
const etag: JsonObject = { description: 'The hash of the version, in quotes.', schema: { type: 'string' } }

export function describeFiles(workshop: Workshop): JsonObject {
  const { components } = workshop
  const answer = (name: 'async_write' | 'async_update' | 'async_delete', description: string, shown: string) => ({
    description,
    ...(name !== 'async_delete' && { headers: { ETag: etag } }),
    content: jsonContent(components.schema(contract[name].output), exampleOf(workshop, name, shown))
  })
  const late: JsonObject = {
    description:
      'The file is another version than If-Match names, is gone, or exists although it must not. The ETag is that of the current version.',
    content: {
      ...jsonContent(components.schema(Contention), {}),
      'text/x-diff': { schema: { type: 'string', description: 'From the version named to the current one.' } }
    }
  }
  const refusals = (codes: readonly ErrorCode[]) => describeRefusals([...new Set(codes)], workshop)

  return {
    parameters: [path, agent],
    get: {
      operationId: 'get_file',
      summary: 'Get a file, or list a folder',
      description:
        'The bytes of a file, or what is in a folder: JSON, or with `Accept: text/plain` one address a line.',
      tags: ['files'],
      parameters: [
        ...describeQuery(routes['/files/*'].querystring, workshop),
        header('If-Match', 'ETags: another version is 412.'),
        header('If-None-Match', 'ETags of versions that the client has.'),
        header('If-Modified-Since', 'A date: 304 if the file has not changed since.'),
        header('If-Unmodified-Since', 'A date: 412 if the file has changed since.'),
        header('Range', 'One range of bytes: `bytes=0-99`, `bytes=100-` or `bytes=-100`.'),
        header('If-Range', 'An ETag: the range is wanted only of this version.')
      ],
      responses: {
        '200': {
          description: 'The file or the folder.',
          headers: { ETag: etag },
          content: {
            '*/*': {
              schema: {
                type: 'string',
                description: 'The bytes of the file; the type is that of its name and content.'
              },
              examples: { text: { summary: 'A file.', value: 'one\ntwo\n' } }
            },
            ...jsonContent(components.schema(contract.async_list.output), {})
          }
        },
        '206': { description: 'The range.', content: { '*/*': { schema: { type: 'string' } } } },
        '304': { description: 'The client has this version.' },
        ...refusals([
          ...door,
          ...pathErrors,
          'FILE_NOT_FOUND',
          'PRECONDITION_FAILED',
          'FILE_TOO_LARGE',
          'RANGE_NOT_SATISFIABLE',
          'OVERLOADED'
        ])
      }
    },
    put: {
      operationId: 'put_file',
      summary: 'Create or replace a file',
      description:
        'Creates a file, or replaces the version that If-Match names, by the very bytes of the body. Without If-Match an existing file is 428.',
      tags: ['files'],
      parameters: [ifMatch, header('If-None-Match', '`*`: the file must not exist yet.'), prefer, accept, once],
      requestBody: {
        required: true,
        content: { '*/*': { schema: { type: 'string' }, examples: { put: { summary: 'Any bytes.', value: 'one\n' } } } }
      },
      responses: {
        '200': answer('async_update', 'Replaced.', 'put'),
        '201': answer('async_write', 'Created.', 'created'),
        ...refusals([...change, 'FILE_EXISTS', 'WRITE_ERROR', 'PRECONDITION_REQUIRED']),
        '412': late
      }
    },
    patch: {
      operationId: 'patch_file',
      summary: 'Change a part of a file',
      description:
        'Changes the version that If-Match names by patches as `async_update` takes them, or by a unified diff.',
      tags: ['files'],
      parameters: [{ ...ifMatch, required: true }, prefer, accept, once],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: {
              type: 'object',
              description: 'The input of `async_update` without `path` and `expected_hash`.',
              properties: { patches: components.schema(contract.async_update.input.properties.patches) }
            }
          },
          'text/x-diff': {
            schema: { type: 'string', description: 'What `diff -u` prints.' },
            examples: { patch: { summary: 'A unified diff.', value: '@@ -1,2 +1,2 @@\n-one\n+1\n two\n' } }
          }
        }
      },
      responses: {
        '200': answer('async_update', 'Changed.', 'patch'),
        ...refusals([...change, 'INVALID_PATCH', 'ENCODING_ERROR', 'WRITE_ERROR', 'PRECONDITION_REQUIRED']),
        '412': late
      }
    },
    delete: {
      operationId: 'delete_file',
      summary: 'Delete a file',
      description: 'Deletes the version that If-Match names, or without it any.',
      tags: ['files'],
      parameters: [ifMatch, prefer, accept, once],
      responses: {
        '200': answer('async_delete', 'Deleted.', 'deleted'),
        ...refusals([...change, 'FILE_NOT_FOUND', 'DELETE_ERROR', 'PRECONDITION_REQUIRED']),
        '412': late
      }
    }
  }
}

/** The first answer of the operation that was recorded. */
function exampleOf({ examples }: Workshop, operation: string, name: string): JsonObject {
  const [first] = Object.values((examples.answers(operation, 200)['examples'] ?? {}) as JsonObject)
  return first === undefined ? {} : { examples: { [name]: first } }
}
