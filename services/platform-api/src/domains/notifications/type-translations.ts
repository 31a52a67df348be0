/** Languages of the translations, in addition to English. */
export const languages = ['es', 'zh'] as const;

/** One of `languages`. */
export type Language = (typeof languages)[number];

type Texts = readonly [title: string, description: string];

/** Titles and descriptions of each type in Spanish and Chinese. */
export const translations: Readonly<Record<string, Readonly<Record<Language, Texts>>>> = {
  sos: {
    es: ['SOS', 'El conductor pulsó el botón de emergencia.'],
    zh: ['紧急报警', '驾驶员按下了紧急报警按钮。'],
  },
  overspeed: {
    es: ['Exceso de velocidad', 'El vehículo circula por encima de su límite.'],
    zh: ['超速', '车辆行驶速度超过限速。'],
  },
  fatigue_driving: {
    es: ['Conducción con fatiga', 'El conductor ha conducido demasiado tiempo sin descansar.'],
    zh: ['疲劳驾驶', '驾驶员连续驾驶时间过长而没有休息。'],
  },
  dangerous_driving: {
    es: ['Conducción peligrosa', 'El terminal ha detectado una conducción peligrosa.'],
    zh: ['危险驾驶', '终端检测到危险驾驶行为。'],
  },
  gnss_fault: {
    es: ['Fallo de posicionamiento', 'El módulo de posicionamiento no funciona.'],
    zh: ['定位模块故障', '定位模块不工作。'],
  },
  gnss_antenna_disconnected: {
    es: ['Antena desconectada', 'La antena de posicionamiento no está conectada.'],
    zh: ['定位天线未接', '定位天线未接或被剪断。'],
  },
  gnss_antenna_short: {
    es: ['Antena en cortocircuito', 'La antena de posicionamiento está en cortocircuito.'],
    zh: ['定位天线短路', '定位天线短路。'],
  },
  power_low: {
    es: ['Alimentación baja', 'La alimentación principal del terminal es baja.'],
    zh: ['主电源欠压', '终端主电源电压过低。'],
  },
  power_cut: {
    es: ['Alimentación cortada', 'El terminal fue desconectado de la alimentación principal.'],
    zh: ['主电源掉电', '终端主电源被切断。'],
  },
  display_fault: {
    es: ['Fallo de pantalla', 'La pantalla del terminal no funciona.'],
    zh: ['显示器故障', '终端显示器不工作。'],
  },
  tts_fault: {
    es: ['Fallo de voz', 'El módulo de voz del terminal no funciona.'],
    zh: ['语音模块故障', '终端语音合成模块不工作。'],
  },
  camera_fault: {
    es: ['Fallo de cámara', 'Una cámara no funciona.'],
    zh: ['摄像头故障', '有摄像头不工作。'],
  },
  ic_card_fault: {
    es: ['Fallo del lector de tarjetas', 'El lector de tarjetas de conductor no funciona.'],
    zh: ['读卡器故障', '驾驶员卡读卡器不工作。'],
  },
  overspeed_warning: {
    es: ['Aviso de velocidad', 'El vehículo se acerca a su límite de velocidad.'],
    zh: ['超速预警', '车辆接近限速。'],
  },
  fatigue_warning: {
    es: ['Aviso de fatiga', 'El conductor debería descansar pronto.'],
    zh: ['疲劳驾驶预警', '驾驶员应尽快休息。'],
  },
  illegal_driving: {
    es: ['Conducción indebida', 'El terminal ha detectado una infracción de las normas de conducción.'],
    zh: ['违规行驶', '终端检测到违规行驶。'],
  },
  tyre_pressure: {
    es: ['Presión de neumáticos', 'Un neumático tiene una presión o temperatura incorrecta.'],
    zh: ['胎压异常', '有轮胎的压力或温度异常。'],
  },
  right_turn_blind_spot: {
    es: ['Ángulo muerto al girar a la derecha', 'Hay algo en el ángulo muerto mientras el vehículo gira a la derecha.'],
    zh: ['右转盲区异常', '车辆右转时盲区内有物体。'],
  },
  driving_overtime: {
    es: ['Tiempo de conducción agotado', 'Se ha agotado el tiempo de conducción del día.'],
    zh: ['当天驾驶超时', '当天累计驾驶时间已用完。'],
  },
  parking_overtime: {
    es: ['Estacionamiento prolongado', 'El vehículo lleva demasiado tiempo estacionado.'],
    zh: ['超时停车', '车辆停放时间过长。'],
  },
  geofence: {
    es: ['Geocerca', 'El vehículo entró en una zona, salió de ella o permaneció en ella.'],
    zh: ['电子围栏', '车辆进入、离开区域或在区域内停留。'],
  },
  route: {
    es: ['Ruta', 'El vehículo entró en una ruta o salió de ella, llegó a un punto de paso o la completó.'],
    zh: ['进出路线', '车辆进入或离开路线、到达途经点或走完路线。'],
  },
  route_segment_time: {
    es: ['Tiempo de tramo', 'Un tramo de la ruta llevó muy poco o demasiado tiempo.'],
    zh: ['路段行驶时间异常', '某路段行驶时间不足或过长。'],
  },
  route_deviation: {
    es: ['Desvío de ruta', 'El vehículo está fuera de su ruta.'],
    zh: ['路线偏离', '车辆偏离了路线。'],
  },
  speed_sensor_fault: {
    es: ['Fallo del sensor de velocidad', 'El sensor de velocidad del vehículo no funciona.'],
    zh: ['车速传感器故障', '车辆的车速传感器不工作。'],
  },
  fuel_abnormal: {
    es: ['Nivel de combustible anómalo', 'El nivel de combustible cambió de forma inusual.'],
    zh: ['油量异常', '油量出现异常变化。'],
  },
  vehicle_theft: {
    es: ['Robo del vehículo', 'La alarma del vehículo informa de un robo.'],
    zh: ['车辆被盗', '车辆防盗器报告被盗。'],
  },
  illegal_ignition: {
    es: ['Encendido no autorizado', 'Se encendió el contacto sin permiso.'],
    zh: ['非法点火', '车辆被非法点火。'],
  },
  illegal_movement: {
    es: ['Movimiento no autorizado', 'El vehículo fue movido sin permiso.'],
    zh: ['非法位移', '车辆被非法移动。'],
  },
  collision: {
    es: ['Colisión', 'El terminal ha detectado una colisión.'],
    zh: ['碰撞', '终端检测到碰撞。'],
  },
  rollover: {
    es: ['Vuelco', 'El vehículo ha volcado.'],
    zh: ['侧翻', '车辆已侧翻。'],
  },
  illegal_door_open: {
    es: ['Apertura de puerta no autorizada', 'Se abrió una puerta sin permiso.'],
    zh: ['非法开门', '车门被非法打开。'],
  },
  video_signal_loss: {
    es: ['Señal de vídeo perdida', 'Una cámara no da imagen.'],
    zh: ['视频信号丢失', '有摄像头没有图像。'],
  },
  video_obstructed: {
    es: ['Cámara tapada', 'Algo tapa una cámara.'],
    zh: ['视频信号遮挡', '有摄像头被遮挡。'],
  },
  storage_fault: {
    es: ['Fallo de almacenamiento', 'Una unidad de almacenamiento de la grabadora no funciona.'],
    zh: ['存储单元故障', '录像设备的存储单元不工作。'],
  },
  video_device_fault: {
    es: ['Fallo del equipo de vídeo', 'Otra parte de la grabadora de vídeo no funciona.'],
    zh: ['其他视频设备故障', '录像设备的其他部分不工作。'],
  },
  passenger_overload: {
    es: ['Exceso de pasajeros', 'El vehículo lleva demasiados pasajeros.'],
    zh: ['客车超员', '车辆载客过多。'],
  },
  abnormal_driving: {
    es: ['Conducción anómala', 'La grabadora ha detectado una conducción inusual.'],
    zh: ['异常驾驶行为', '录像设备检测到异常驾驶行为。'],
  },
  alarm_storage_full: {
    es: ['Almacenamiento de alarmas lleno', 'El almacenamiento de grabaciones de alarmas está lleno.'],
    zh: ['报警录像存储已满', '特殊报警录像的存储已达到上限。'],
  },
  adas_forward_collision: {
    es: ['Aviso de colisión frontal', 'El vehículo se acerca demasiado rápido al de delante.'],
    zh: ['前向碰撞预警', '车辆过快接近前车。'],
  },
  adas_lane_departure: {
    es: ['Salida de carril', 'El vehículo se sale de su carril.'],
    zh: ['车道偏离', '车辆偏离车道。'],
  },
  adas_headway: {
    es: ['Distancia insuficiente', 'La distancia al vehículo de delante es demasiado corta.'],
    zh: ['车距过近', '与前车的距离过近。'],
  },
  adas_pedestrian: {
    es: ['Aviso de atropello', 'Hay un peatón en el camino del vehículo.'],
    zh: ['行人碰撞预警', '车辆前方有行人。'],
  },
  adas_frequent_lane_change: {
    es: ['Cambios de carril frecuentes', 'El vehículo cambia de carril con frecuencia.'],
    zh: ['频繁变道', '车辆频繁变更车道。'],
  },
  adas_road_sign: {
    es: ['Límite de señal de tráfico excedido', 'El vehículo excede lo que permite una señal de tráfico.'],
    zh: ['道路标识超限', '车辆超出道路标识的限制。'],
  },
  adas_obstacle: {
    es: ['Obstáculo', 'Hay un obstáculo en el camino del vehículo.'],
    zh: ['障碍物', '车辆前方有障碍物。'],
  },
  adas_sign_recognised: {
    es: ['Señal de tráfico reconocida', 'La cámara ha reconocido una señal de tráfico.'],
    zh: ['道路标志识别', '摄像头识别到道路标志。'],
  },
  adas_snapshot: {
    es: ['Foto de asistencia a la conducción', 'La asistencia a la conducción ha tomado una foto.'],
    zh: ['驾驶辅助抓拍', '驾驶辅助系统拍摄了照片。'],
  },
  adas_solid_line: {
    es: ['Línea continua cruzada', 'El vehículo ha cruzado una línea continua.'],
    zh: ['实线变道', '车辆跨越了实线。'],
  },
  adas_aisle_pedestrian: {
    es: ['Persona en el pasillo', 'Hay una persona de pie en el pasillo.'],
    zh: ['过道行人', '车厢过道内有人站立。'],
  },
  dsm_fatigue: {
    es: ['Fatiga del conductor', 'El conductor muestra signos de fatiga.'],
    zh: ['驾驶员疲劳', '驾驶员有疲劳迹象。'],
  },
  dsm_phone: {
    es: ['Uso del teléfono', 'El conductor está hablando por teléfono.'],
    zh: ['接打电话', '驾驶员正在接打电话。'],
  },
  dsm_smoking: {
    es: ['Fumar', 'El conductor está fumando.'],
    zh: ['抽烟', '驾驶员正在抽烟。'],
  },
  dsm_distraction: {
    es: ['Distracción', 'El conductor no mira la carretera.'],
    zh: ['分神驾驶', '驾驶员没有注视前方道路。'],
  },
  dsm_driver_abnormal: {
    es: ['Estado anómalo del conductor', 'La cámara no ve al conductor en un estado normal.'],
    zh: ['驾驶员异常', '摄像头看不到正常状态的驾驶员。'],
  },
  dsm_camera_covered: {
    es: ['Cámara del conductor tapada', 'La cámara que observa al conductor está tapada.'],
    zh: ['驾驶员摄像头遮挡', '监测驾驶员的摄像头被遮挡。'],
  },
  dsm_overtime: {
    es: ['Demasiado tiempo al volante', 'La cámara ve al mismo conductor desde hace demasiado tiempo.'],
    zh: ['超时驾驶', '摄像头长时间看到同一名驾驶员。'],
  },
  dsm_seatbelt: {
    es: ['Cinturón de seguridad', 'El conductor no lleva el cinturón de seguridad.'],
    zh: ['未系安全带', '驾驶员没有系安全带。'],
  },
  dsm_sunglasses: {
    es: ['Gafas que bloquean el infrarrojo', 'El conductor lleva gafas que la cámara no puede atravesar.'],
    zh: ['红外阻断型墨镜', '驾驶员戴着摄像头无法透视的眼镜。'],
  },
  dsm_hands_off: {
    es: ['Manos fuera del volante', 'El conductor tiene ambas manos fuera del volante.'],
    zh: ['双手脱离方向盘', '驾驶员双手离开方向盘。'],
  },
  dsm_phone_play: {
    es: ['Jugando con el teléfono', 'El conductor juega con un teléfono.'],
    zh: ['玩手机', '驾驶员正在玩手机。'],
  },
  dsm_snapshot: {
    es: ['Foto del conductor', 'La cámara ha tomado una foto del conductor.'],
    zh: ['驾驶员抓拍', '摄像头拍摄了驾驶员的照片。'],
  },
  dsm_driver_change: {
    es: ['Otro conductor', 'La cámara ve a otro conductor.'],
    zh: ['驾驶员变更', '摄像头看到另一名驾驶员。'],
  },
  bsd_rear: {
    es: ['Objeto detrás', 'Algo se acerca por detrás.'],
    zh: ['后方接近', '有物体从后方接近。'],
  },
  bsd_left_rear: {
    es: ['Ángulo muerto izquierdo', 'Hay algo en el ángulo muerto izquierdo.'],
    zh: ['左侧盲区', '左侧盲区内有物体。'],
  },
  bsd_right_rear: {
    es: ['Ángulo muerto derecho', 'Hay algo en el ángulo muerto derecho.'],
    zh: ['右侧盲区', '右侧盲区内有物体。'],
  },
  harsh_acceleration: {
    es: ['Aceleración brusca', 'El vehículo aceleró bruscamente.'],
    zh: ['急加速', '车辆急加速。'],
  },
  harsh_braking: {
    es: ['Frenazo', 'El vehículo frenó bruscamente.'],
    zh: ['急刹车', '车辆急刹车。'],
  },
  harsh_cornering: {
    es: ['Giro brusco', 'El vehículo tomó una curva bruscamente.'],
    zh: ['急转弯', '车辆急转弯。'],
  },
  ignition_on: {
    es: ['Contacto encendido', 'Se encendió el contacto.'],
    zh: ['点火', '车辆已点火。'],
  },
  ignition_off: {
    es: ['Contacto apagado', 'Se apagó el contacto.'],
    zh: ['熄火', '车辆已熄火。'],
  },
  idling: {
    es: ['Ralentí', 'El motor lleva minutos en marcha sin mover el vehículo.'],
    zh: ['怠速', '发动机运转数分钟而车辆未移动。'],
  },
  towing: {
    es: ['Remolque', 'El vehículo se mueve con el contacto apagado.'],
    zh: ['拖车', '车辆在熄火状态下移动。'],
  },
  device_online: {
    es: ['Dispositivo conectado', 'El terminal se ha conectado.'],
    zh: ['设备上线', '终端已连接。'],
  },
  device_offline: {
    es: ['Dispositivo sin conexión', 'Hace tiempo que no se sabe nada del terminal.'],
    zh: ['设备离线', '终端已有一段时间没有消息。'],
  },
  fuel_drop: {
    es: ['Caída de combustible', 'El nivel de combustible bajó de repente.'],
    zh: ['油量骤降', '油量突然下降。'],
  },
  fuel_fill: {
    es: ['Repostaje', 'El nivel de combustible subió de repente.'],
    zh: ['加油', '油量突然上升。'],
  },
  low_battery: {
    es: ['Batería baja', 'La batería del terminal está baja.'],
    zh: ['电池电量低', '终端电池电量低。'],
  },
  night_driving: {
    es: ['Conducción nocturna', 'El vehículo circula de noche.'],
    zh: ['夜间行驶', '车辆在夜间行驶。'],
  },
  driver_change: {
    es: ['Cambio de conductor', 'Otro conductor ha iniciado sesión.'],
    zh: ['驾驶员登签', '另一名驾驶员已登签。'],
  },
  maintenance_due: {
    es: ['Mantenimiento pendiente', 'El vehículo ha llegado a su próxima revisión.'],
    zh: ['保养到期', '车辆已到下次保养里程。'],
  },
  document_expiry: {
    es: ['Documento por vencer', 'Un permiso vence pronto.'],
    zh: ['证件到期', '证件即将到期。'],
  },
  video_upload_completed: {
    es: ['Vídeo subido', 'Se ha subido una grabación.'],
    zh: ['录像上传完成', '一段录像已上传。'],
  },
  video_upload_failed: {
    es: ['Subida de vídeo fallida', 'No se pudo subir una grabación.'],
    zh: ['录像上传失败', '一段录像未能上传。'],
  },
  media_captured: {
    es: ['Foto tomada', 'Una cámara ha tomado una foto solicitada.'],
    zh: ['拍照完成', '摄像头拍摄了所要求的照片。'],
  },
  storage_quota: {
    es: ['Almacenamiento casi lleno', 'El almacenamiento de medios del vehículo está casi lleno.'],
    zh: ['存储空间将满', '车辆的媒体存储空间将满。'],
  },
  data_budget: {
    es: ['Presupuesto de datos', 'El vehículo ha usado casi todo o todo su presupuesto mensual de datos.'],
    zh: ['流量预算', '车辆本月的流量预算即将用完或已用完。'],
  },
  command_failed: {
    es: ['Comando fallido', 'Un comando al terminal ha fallado.'],
    zh: ['指令失败', '发给终端的指令失败。'],
  },
  webhook_disabled: {
    es: ['Webhook desactivado', 'Un webhook está fallando o fue desactivado por ello.'],
    zh: ['回调停用', '回调地址持续失败，或已因此停用。'],
  },
  unknown_alarm: {
    es: ['Alarma desconocida', 'El terminal ha informado de una alarma desconocida.'],
    zh: ['未知报警', '终端报告了未知的报警。'],
  },
};
