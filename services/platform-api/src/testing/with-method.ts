/** Returns a proxy of an object, such as a collection, with one method replaced. */
export const withMethod = <T extends object>(real: T, name: keyof T, method: (...given: never[]) => unknown): T =>
  new Proxy(real, {
    get: (target, field) => {
      if (field === name) return method;
      const value: unknown = Reflect.get(target, field);
      return typeof value === 'function' ? (value as (...given: unknown[]) => unknown).bind(target) : value;
    },
  });
