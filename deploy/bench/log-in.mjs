/** Logs in as the demo user; returns a function that sends requests to the Platform API: POST if there is a body. */
export async function logIn({ runtime: { base_url: base, demo } }) {
  let headers = { 'content-type': 'application/json' };
  const send = async (path, body) => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(`${base}/api${path}`, { headers, ...init });
    /** @type {any} */
    const result = await response.json();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(result)}`);
    return result.data ?? result;
  };
  const { access_token: token } = await send('/auth/login', { identifier: demo.email, password: demo.password });
  headers = { ...headers, authorization: `Bearer ${token}`, 'x-api-key': demo.api_key };
  return send;
}
