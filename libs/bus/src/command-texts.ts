/**
 * First characters of commands that terminals of several vendors accept as text, such as `<SPBSJ*P:…>`, `*HQ,…#` and
 * `#RESET#`.
 */
const commandPrefix = /^[<>*#$@&{}|\\^~=%/]/;

/**
 * Words with which vendors' text commands set a server, an access point or a password, reset a terminal or load its
 * firmware.
 */
const commandWords =
  'ADMINIP|APN|APNPASSWORD|APNPWD|APNUSER|CPURESET|CQ|CUTOFF|DELETERECORDS|DNS|DOMAIN|DYD|FACTORY|FOTA|FTP|GPRS|HFYD|IP|IPADDR|NOADMIN|OTA|PASSWD|PASSWORD|POWEROFF|PSW|PWD|REBOOT|RELAY|RESET|RESTART|RESTORE|SERVER|SETPARAM|SHUTDOWN|SVR|TCPIP|UPGRADE|WEB_CONNECT';

/** Command words that also begin plain sentences: they match only before a separator or digits. */
const everydayWords = 'BEGIN|CENTER|CLEAR|CONFIG|DEFAULT|FLUSH|FORMAT|HOST|INIT|INITIALIZE|PORT|SET|UPDATE|URL';

const commandForms: readonly RegExp[] = [
  commandPrefix,
  // A word at the beginning: `RESET`, `SERVER,1,host,port,0#`, `reset123456`.
  new RegExp(`^(?:${commandWords})(?![A-Z_])`),
  new RegExp(`^(?:${everydayWords})\\d`),
  // A word before a separator, also after a password or in another line: `666666,APN=internet`.
  new RegExp(`(?<![A-Z_])(?:${commandWords}|${everydayWords})\\d*[,=#*]`),
  // Words that no sentence contains, at any position: `login password setparam 2004:host`.
  /(?<![A-Z_])(?:SETPARAM|CPURESET|ADMINIP|WEB_CONNECT|DELETERECORDS)(?![A-Z_])/,
  // Modem commands: `AT+CGDCONT=1`.
  /(?<![A-Z])AT[+^$#&%]/,
  // A numeric password with its separator: `123456#…`, `W000000,012,host,port`.
  /^W?\d{4,8}[#*,]\S/,
  // One word that ends as most vendors' commands do: `STATUS#`, `GMT,E,8,0#`.
  /^\S+#$/,
];

/**
 * Returns true for a text that a vendor's terminal may execute as a command. The list is conservative: a few plain
 * sentences match too.
 */
export function isCommandText(text: string): boolean {
  // Invisible characters and other widths could bypass the list, and a terminal may skip or convert them.
  const normal = text
    .normalize('NFKC')
    .replaceAll(/\s+/gu, ' ')
    .replaceAll(/\p{C}+/gu, '')
    .trim()
    .toUpperCase();
  return commandForms.some((form) => form.test(normal));
}
