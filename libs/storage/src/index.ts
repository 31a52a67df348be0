export { type Collection, type Database, type Db, openDatabase } from './mongo.ts';
export { openRedis, type Redis, redisAnswers } from './redis.ts';
