/** Fields of a body that name another media server for the camera. */
export interface MediaServerFields {
  readonly host?: string;
  readonly tcp_port?: number;
  readonly udp_port?: number;
}

/** Returns whether a body sends the camera to another media server, which needs the right of commands. */
export const namesMediaServer = ({ host, tcp_port: tcpPort, udp_port: udpPort }: MediaServerFields): boolean =>
  host !== undefined || tcpPort !== undefined || udpPort !== undefined;
