import { Type } from 'typebox';

/** A choice among integers; the meaning of each stands in the description. */
export const choice = (values: readonly number[], options: { description: string; default?: number }) =>
  Type.Integer({ enum: values, ...options });

export const imei = Type.String({
  pattern: '^(?!0+$)([0-9]{12}|[0-9]{20})$',
  errorMessage: 'must be a terminal number of 12 or 20 digits, not all zeros',
  description: 'Terminal number, 12 or 20 digits; both forms of one number are the same device.',
  examples: ['013800138000'],
});

export const channel = Type.Integer({
  minimum: 0,
  maximum: 255,
  description: 'Camera channel, starting at 1.',
  examples: [1],
});

export const host = Type.String({
  pattern: '^[A-Za-z0-9._:-]{1,253}$',
  errorMessage: 'must be a host name or an IP address',
  description: "Media server that the camera streams to; the server's own when left out.",
});

const port = (description: string) => Type.Integer({ minimum: 0, maximum: 65_535, description });

export const tcpPort = port(
  "TCP port of that media server; the server's own when left out. 0: no TCP, so that the camera uses udp_port.",
);

export const udpPort = port(
  "UDP port of that media server. When left out: 0 (no UDP), or the server's own where tcp_port is 0.",
);

export const dataType = choice([0, 1, 2, 3, 4, 5], {
  default: 0,
  description:
    '0 audio and video, 1 video only, 2 two-way intercom, 3 listen-in (monitoring), 4 central broadcast, 5 transparent transmission.',
});

export const realtimeStreamType = (description: string) => choice([0, 1], { default: 0, description });

/** Query of every request about one device. */
export const deviceQuery = Type.Object({ imei });

/** Query of every request about one camera. */
export const cameraQuery = Type.Object({ imei, channel });
