import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { controlActions, isControlAction } from './control-actions.ts';
import type { SimulatedTerminal } from './terminal.ts';

/** A terminal in the response of `GET /terminals`. */
interface ControlledTerminal {
  imei: string;
  is_online: boolean;
  behaviour: string;
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}

const sendError = (response: ServerResponse, status: number, error: string): void =>
  sendJson(response, status, { status, error });

const describe = (terminal: SimulatedTerminal): ControlledTerminal => ({
  imei: terminal.phone,
  is_online: terminal.isOnline,
  behaviour: terminal.behaviours.general.kind,
});

const actionPath = /^\/terminals\/(\d{12,20})\/([a-z_]{1,20})$/;

/** Runs the action that a path names. */
async function runAction(
  terminals: readonly SimulatedTerminal[],
  path: string,
  response: ServerResponse,
): Promise<void> {
  const [, imei = '', action = ''] = actionPath.exec(path) ?? [];
  const terminal = terminals.find(({ phone }) => phone === imei);
  if (terminal === undefined) return sendError(response, 404, 'No simulated terminal has this number.');
  if (!isControlAction(action))
    return sendError(
      response,
      404,
      `There is no such action. The actions are ${Object.keys(controlActions).join(', ')}.`,
    );
  if (!terminal.isOnline && action !== 'wake') return sendError(response, 409, 'The terminal is not connected.');
  await controlActions[action](terminal);
  sendJson(response, 200, describe(terminal));
}

/**
 * Creates an HTTP server that lists terminals (`GET /terminals`) and runs actions on them
 * (`POST /terminals/:imei/:action`). Only for loopback: it has no authentication.
 */
export function createControlServer(terminals: readonly SimulatedTerminal[]): Server {
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url?.split('?', 1)[0] ?? '/';
    if (request.method === 'POST') return await runAction(terminals, path, response);
    if (path !== '/terminals') return sendError(response, 404, 'The only path for GET is /terminals.');
    sendJson(response, 200, { terminals: terminals.map(describe) });
  };
  return createServer((request, response) => {
    serve(request.resume(), response).catch((error: unknown) =>
      sendError(response, 500, error instanceof Error ? error.message : String(error)),
    );
  });
}
