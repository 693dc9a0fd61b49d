// Settings of which processes serve one tree together.
import { Type } from '../typebox.ts'
import { path, secret } from './annotations.ts'

const pemFile = (description: string) =>
  Type.Unsafe<string | null>({ ...path(), type: ['string', 'null'], minLength: 1, default: null, description })

export const tree = Type.Object(
  {
    coordinator: Type.String({
      enum: ['local', 'etcd'],
      default: 'local',
      description:
        'Who decides which process is the authority of the tree: "local" is the lock of the system, for processes of one host; "etcd" is an election, for several hosts that share a volume.'
    }),
    known_as: Type.Array(Type.String({ minLength: 1 }), {
      ...path(),
      default: [],
      examples: [['/workspaces/app']],
      description:
        'Further paths by which the first root is known: those at which containers of this host, or clients with other paths, have it. Paths of hooks, relays and calls that begin with one of these mean the root.'
    }),
    etcd_endpoints: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      examples: [['http://10.0.0.1:2379', 'http://10.0.0.2:2379', 'http://10.0.0.3:2379']],
      description: 'Addresses of the etcd cluster, http or https.'
    }),
    etcd_prefix: Type.String({
      minLength: 1,
      default: '/async-crud-mcp',
      description: 'What the key of the tree in etcd begins with.'
    }),
    etcd_username: Type.String({ default: '', description: 'User of etcd; "" logs in as none.' }),
    etcd_password: Type.String({ ...secret, default: '', description: 'Password of that user.' }),
    etcd_ca: pemFile(
      'PEM file with the authority that has signed the certificates of etcd; null trusts those of Node.'
    ),
    etcd_cert: pemFile('PEM file with the certificate that this server shows to etcd.'),
    etcd_key: pemFile('PEM file with the key of that certificate.'),
    etcd_ttl_seconds: Type.Integer({
      minimum: 2,
      maximum: 600,
      default: 5,
      description:
        'How long etcd waits for a sign of life of the authority. After that time another host takes over, and this one refuses changes.'
    }),
    advertise: Type.String({
      default: '',
      examples: ['host-a.internal:8730'],
      description:
        'Host and port at which the other hosts reach this process, such as "host-a.internal:8730"; port 0 is any free one; "" is the name of this host with any free port.'
    }),
    relay_secret: Type.String({
      ...secret,
      default: '',
      examples: ['a long random text'],
      description:
        'Secret that all hosts of the tree share, of at least 16 characters. It is never sent, but what the hosts say to each other can be read on the way: for private networks. "" needs tree.relay_cert.'
    }),
    relay_ca: pemFile('PEM file with the authority that has signed the certificates of all hosts of the tree.'),
    relay_cert: pemFile(
      'PEM file with the certificate that this host shows to the others, for the name in tree.advertise.'
    ),
    relay_key: pemFile('PEM file with the key of that certificate.')
  },
  { additionalProperties: false, default: {}, description: 'Which processes serve one tree together.' }
)
