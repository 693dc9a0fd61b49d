// The part of Fastify's requests and answers that the transports use.

export interface Asked {
  readonly url: string
  readonly body?: unknown
  readonly routeOptions: { readonly url?: string | undefined }
}

/** What is set stays if the request fails later. */
export interface Reply {
  code(status: number): Reply
  header(name: string, value: string | number): Reply
  headers(values: Readonly<Record<string, string>>): Reply
  type(mediaType: string): Reply
  send(body?: string | Buffer | object): Reply
}
