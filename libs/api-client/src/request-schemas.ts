// Generated from services/platform-api/openapi.json by `npm run generate`. Do not edit.
/** JSON schemas of the request bodies by operation. */
export const requestSchemas = {
  "register": {
    "type": "object",
    "required": [
      "name",
      "password",
      "account_name"
    ],
    "properties": {
      "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "email": {
        "type": "string",
        "maxLength": 254,
        "pattern": "^[^@\\s]+@[^@\\s]+$"
      },
      "phone_number": {
        "type": "string",
        "maxLength": 40
      },
      "password": {
        "type": "string",
        "minLength": 10,
        "maxLength": 256
      },
      "account_name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "session": {
        "type": "string",
        "const": "cookie"
      }
    }
  },
  "login": {
    "type": "object",
    "required": [
      "identifier",
      "password"
    ],
    "properties": {
      "identifier": {
        "type": "string",
        "minLength": 1,
        "maxLength": 254
      },
      "password": {
        "type": "string",
        "minLength": 1,
        "maxLength": 256
      },
      "code": {
        "type": "string",
        "maxLength": 20
      },
      "session": {
        "type": "string",
        "const": "cookie"
      }
    }
  },
  "sendOneTimeCode": {
    "type": "object",
    "required": [
      "phone_number"
    ],
    "properties": {
      "phone_number": {
        "type": "string",
        "maxLength": 40
      }
    }
  },
  "verifyOneTimeCode": {
    "type": "object",
    "required": [
      "phone_number",
      "code"
    ],
    "properties": {
      "phone_number": {
        "type": "string",
        "maxLength": 40
      },
      "code": {
        "type": "string",
        "pattern": "^\\d{6}$"
      },
      "totp_code": {
        "type": "string",
        "maxLength": 20
      },
      "session": {
        "type": "string",
        "const": "cookie"
      }
    }
  },
  "forgotPassword": {
    "type": "object",
    "required": [
      "identifier"
    ],
    "properties": {
      "identifier": {
        "type": "string",
        "minLength": 1,
        "maxLength": 254
      }
    }
  },
  "checkPasswordToken": {
    "type": "object",
    "required": [
      "token"
    ],
    "properties": {
      "token": {
        "type": "string",
        "minLength": 1,
        "maxLength": 256
      }
    }
  },
  "resetPassword": {
    "type": "object",
    "required": [
      "token",
      "password"
    ],
    "properties": {
      "token": {
        "type": "string",
        "minLength": 1,
        "maxLength": 256
      },
      "password": {
        "type": "string",
        "minLength": 10,
        "maxLength": 256
      }
    }
  },
  "refresh": {
    "type": "object",
    "properties": {
      "refresh_token": {
        "type": "string",
        "minLength": 1,
        "maxLength": 256
      }
    }
  },
  "startTwoFactor": {
    "type": "object",
    "properties": {
      "code": {
        "anyOf": [
          {
            "type": "string",
            "pattern": "^\\d{6}$"
          },
          {
            "type": "null"
          }
        ]
      }
    }
  },
  "endTwoFactor": {
    "type": "object",
    "required": [
      "code"
    ],
    "properties": {
      "code": {
        "type": "string",
        "pattern": "^(\\d{6}|[a-zA-Z2-9]{5}-?[a-zA-Z2-9]{5})$"
      }
    }
  },
  "createUser": {
    "type": "object",
    "required": [
      "name",
      "role"
    ],
    "properties": {
      "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "email": {
        "anyOf": [
          {
            "type": "string",
            "maxLength": 254,
            "pattern": "^[^@\\s]+@[^@\\s]+$"
          },
          {
            "type": "null"
          }
        ]
      },
      "phone_number": {
        "anyOf": [
          {
            "type": "string",
            "maxLength": 40
          },
          {
            "type": "null"
          }
        ]
      },
      "role": {
        "type": "string",
        "enum": [
          "superadmin",
          "dealer",
          "owner",
          "admin",
          "manager",
          "viewer",
          "driver"
        ],
        "x-roles-by-caller": {
          "superadmin": [
            "superadmin",
            "dealer",
            "owner",
            "admin",
            "manager",
            "viewer",
            "driver"
          ],
          "dealer": [],
          "owner": [
            "owner",
            "admin",
            "manager",
            "viewer",
            "driver"
          ],
          "admin": [
            "admin",
            "manager",
            "viewer",
            "driver"
          ],
          "manager": [],
          "viewer": [],
          "driver": []
        }
      },
      "password": {
        "type": "string",
        "minLength": 10,
        "maxLength": 256
      },
      "can_view_video": {
        "type": "boolean"
      },
      "language": {
        "type": "string",
        "pattern": "^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$",
        "maxLength": 35
      },
      "timezone": {
        "type": "string",
        "minLength": 1,
        "maxLength": 64
      }
    }
  },
  "updateUser": {
    "type": "object",
    "properties": {
      "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "email": {
        "anyOf": [
          {
            "type": "string",
            "maxLength": 254,
            "pattern": "^[^@\\s]+@[^@\\s]+$"
          },
          {
            "type": "null"
          }
        ]
      },
      "phone_number": {
        "anyOf": [
          {
            "type": "string",
            "maxLength": 40
          },
          {
            "type": "null"
          }
        ]
      },
      "role": {
        "type": "string",
        "enum": [
          "superadmin",
          "dealer",
          "owner",
          "admin",
          "manager",
          "viewer",
          "driver"
        ],
        "x-roles-by-caller": {
          "superadmin": [
            "superadmin",
            "dealer",
            "owner",
            "admin",
            "manager",
            "viewer",
            "driver"
          ],
          "dealer": [],
          "owner": [
            "owner",
            "admin",
            "manager",
            "viewer",
            "driver"
          ],
          "admin": [
            "admin",
            "manager",
            "viewer",
            "driver"
          ],
          "manager": [],
          "viewer": [],
          "driver": []
        }
      },
      "password": {
        "type": "string",
        "minLength": 10,
        "maxLength": 256
      },
      "current_password": {
        "type": "string",
        "maxLength": 256
      },
      "can_view_video": {
        "type": "boolean"
      },
      "language": {
        "type": "string",
        "pattern": "^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$",
        "maxLength": 35
      },
      "timezone": {
        "type": "string",
        "minLength": 1,
        "maxLength": 64
      },
      "disabled": {
        "type": "boolean"
      },
      "two_factor_enabled": {
        "type": "boolean",
        "const": false
      }
    }
  },
  "inviteUser": {
    "type": "object",
    "required": [
      "email",
      "role"
    ],
    "properties": {
      "email": {
        "type": "string",
        "maxLength": 254,
        "pattern": "^[^@\\s]+@[^@\\s]+$"
      },
      "role": {
        "type": "string",
        "enum": [
          "superadmin",
          "dealer",
          "owner",
          "admin",
          "manager",
          "viewer",
          "driver"
        ],
        "x-roles-by-caller": {
          "superadmin": [
            "superadmin",
            "dealer",
            "owner",
            "admin",
            "manager",
            "viewer",
            "driver"
          ],
          "dealer": [],
          "owner": [
            "owner",
            "admin",
            "manager",
            "viewer",
            "driver"
          ],
          "admin": [
            "admin",
            "manager",
            "viewer",
            "driver"
          ],
          "manager": [],
          "viewer": [],
          "driver": []
        }
      },
      "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      }
    }
  },
  "createApiKey": {
    "type": "object",
    "required": [
      "name"
    ],
    "properties": {
      "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "scopes": {
        "type": "array",
        "items": {
          "type": "string",
          "enum": [
            "read",
            "write",
            "command",
            "video",
            "ingest",
            "webhook"
          ]
        },
        "minItems": 1,
        "uniqueItems": true
      },
      "ip_allowlist": {
        "type": "array",
        "items": {
          "type": "string",
          "maxLength": 64
        },
        "maxItems": 100
      },
      "expires_at": {
        "anyOf": [
          {
            "type": "string",
            "format": "date-time"
          },
          {
            "type": "null"
          }
        ]
      },
      "can_mint_tokens": {
        "type": "boolean"
      }
    }
  },
  "openAccount": {
    "type": "object",
    "required": [
      "name",
      "owner"
    ],
    "properties": {
      "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "timezone": {
        "type": "string",
        "minLength": 1,
        "maxLength": 64
      },
      "city": {
        "anyOf": [
          {
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
            "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
          },
          {
            "type": "null"
          }
        ]
      },
      "country": {
        "anyOf": [
          {
            "type": "string",
            "minLength": 2,
            "maxLength": 100,
            "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
          },
          {
            "type": "null"
          }
        ]
      },
      "max_streams": {
        "anyOf": [
          {
            "type": "integer",
            "minimum": 0,
            "maximum": 10000
          },
          {
            "type": "null"
          }
        ]
      },
      "owner": {
        "type": "object",
        "required": [
          "name"
        ],
        "properties": {
          "name": {
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
            "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
          },
          "email": {
            "anyOf": [
              {
                "type": "string",
                "maxLength": 254,
                "pattern": "^[^@\\s]+@[^@\\s]+$"
              },
              {
                "type": "null"
              }
            ]
          },
          "phone_number": {
            "anyOf": [
              {
                "type": "string",
                "maxLength": 40
              },
              {
                "type": "null"
              }
            ]
          },
          "password": {
            "type": "string",
            "minLength": 10,
            "maxLength": 256
          },
          "role": {
            "type": "string",
            "enum": [
              "owner",
              "dealer"
            ]
          }
        }
      }
    }
  },
  "updateAccount": {
    "type": "object",
    "properties": {
      "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "timezone": {
        "type": "string",
        "minLength": 1,
        "maxLength": 64
      },
      "city": {
        "anyOf": [
          {
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
            "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
          },
          {
            "type": "null"
          }
        ]
      },
      "country": {
        "anyOf": [
          {
            "type": "string",
            "minLength": 2,
            "maxLength": 100,
            "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
          },
          {
            "type": "null"
          }
        ]
      },
      "max_streams": {
        "anyOf": [
          {
            "type": "integer",
            "minimum": 0,
            "maximum": 10000
          },
          {
            "type": "null"
          }
        ]
      },
      "status": {
        "type": "string",
        "enum": [
          "active",
          "suspended"
        ]
      }
    }
  },
  "deleteAccount": {
    "type": "object",
    "required": [
      "confirm"
    ],
    "properties": {
      "confirm": {
        "type": "string",
        "enum": [
          "DELETE"
        ]
      }
    }
  },
  "createVehicle": {
    "type": "object",
    "required": [
      "vehicle_no"
    ],
    "properties": {
      "vehicle_no": {
        "type": "string",
        "minLength": 1,
        "maxLength": 20,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "name": {
        "minLength": 0,
        "maxLength": 100,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "imei": {
        "pattern": "^(\\d{12}|\\d{15}|\\d{20})$",
        "type": [
          "string",
          "null"
        ]
      },
      "vehicle_type": {
        "type": [
          "string",
          "null"
        ],
        "enum": [
          "car",
          "truck",
          "bus",
          "van",
          "motorcycle",
          "tanker",
          "trailer",
          "mining_truck",
          "excavator",
          "other",
          null
        ]
      },
      "make": {
        "minLength": 1,
        "maxLength": 60,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "model": {
        "minLength": 1,
        "maxLength": 60,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "year": {
        "minimum": 1900,
        "maximum": 2200,
        "type": [
          "integer",
          "null"
        ]
      },
      "color": {
        "minLength": 1,
        "maxLength": 40,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "vin": {
        "pattern": "^[A-Za-z0-9]{11,17}$",
        "type": [
          "string",
          "null"
        ]
      },
      "fuel_type": {
        "type": [
          "string",
          "null"
        ],
        "enum": [
          "petrol",
          "diesel",
          "cng",
          "lpg",
          "electric",
          "hybrid",
          "other",
          null
        ]
      },
      "tank_capacity_l": {
        "minimum": 1,
        "maximum": 100000,
        "type": [
          "number",
          "null"
        ]
      },
      "speed_limit_kmh": {
        "minimum": 10,
        "maximum": 200,
        "type": [
          "integer",
          "null"
        ]
      },
      "odometer_km": {
        "type": "number",
        "minimum": 0,
        "maximum": 10000000
      },
      "timezone": {
        "minLength": 1,
        "maxLength": 60,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "camera_utc_offset": {
        "pattern": "^([+-](0\\d|1[01]):[0-5]\\d|[+-]12:00|\\+(12|13):[0-5]\\d|\\+14:00)$",
        "type": [
          "string",
          "null"
        ]
      },
      "driver_id": {
        "minimum": 1,
        "maximum": 9007199254740991,
        "type": [
          "integer",
          "null"
        ]
      },
      "group_ids": {
        "type": "array",
        "items": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9007199254740991
        },
        "maxItems": 200
      },
      "channels": {
        "type": "array",
        "items": {
          "type": "object",
          "required": [
            "channel_id"
          ],
          "properties": {
            "channel_id": {
              "type": "integer",
              "minimum": 1,
              "maximum": 37
            },
            "name": {
              "type": "string",
              "minLength": 0,
              "maxLength": 100,
              "pattern": "^[^\\u0000]*$"
            },
            "enabled": {
              "type": "boolean"
            },
            "has_audio": {
              "type": "boolean"
            }
          }
        },
        "maxItems": 16
      },
      "attributes": {
        "type": "object",
        "additionalProperties": true
      }
    }
  },
  "importVehicles": {
    "type": "object",
    "required": [
      "rows"
    ],
    "properties": {
      "rows": {
        "type": "array",
        "items": {
          "type": "object",
          "additionalProperties": true
        },
        "minItems": 1,
        "maxItems": 200
      }
    }
  },
  "updateVehicle": {
    "type": "object",
    "properties": {
      "vehicle_no": {
        "type": "string",
        "minLength": 1,
        "maxLength": 20,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "name": {
        "minLength": 0,
        "maxLength": 100,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "imei": {
        "pattern": "^(\\d{12}|\\d{15}|\\d{20})$",
        "type": [
          "string",
          "null"
        ]
      },
      "vehicle_type": {
        "type": [
          "string",
          "null"
        ],
        "enum": [
          "car",
          "truck",
          "bus",
          "van",
          "motorcycle",
          "tanker",
          "trailer",
          "mining_truck",
          "excavator",
          "other",
          null
        ]
      },
      "make": {
        "minLength": 1,
        "maxLength": 60,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "model": {
        "minLength": 1,
        "maxLength": 60,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "year": {
        "minimum": 1900,
        "maximum": 2200,
        "type": [
          "integer",
          "null"
        ]
      },
      "color": {
        "minLength": 1,
        "maxLength": 40,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "vin": {
        "pattern": "^[A-Za-z0-9]{11,17}$",
        "type": [
          "string",
          "null"
        ]
      },
      "fuel_type": {
        "type": [
          "string",
          "null"
        ],
        "enum": [
          "petrol",
          "diesel",
          "cng",
          "lpg",
          "electric",
          "hybrid",
          "other",
          null
        ]
      },
      "tank_capacity_l": {
        "minimum": 1,
        "maximum": 100000,
        "type": [
          "number",
          "null"
        ]
      },
      "speed_limit_kmh": {
        "minimum": 10,
        "maximum": 200,
        "type": [
          "integer",
          "null"
        ]
      },
      "odometer_km": {
        "type": "number",
        "minimum": 0,
        "maximum": 10000000
      },
      "timezone": {
        "minLength": 1,
        "maxLength": 60,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "camera_utc_offset": {
        "pattern": "^([+-](0\\d|1[01]):[0-5]\\d|[+-]12:00|\\+(12|13):[0-5]\\d|\\+14:00)$",
        "type": [
          "string",
          "null"
        ]
      },
      "driver_id": {
        "minimum": 1,
        "maximum": 9007199254740991,
        "type": [
          "integer",
          "null"
        ]
      },
      "group_ids": {
        "type": "array",
        "items": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9007199254740991
        },
        "maxItems": 200
      },
      "channels": {
        "type": "array",
        "items": {
          "type": "object",
          "required": [
            "channel_id"
          ],
          "properties": {
            "channel_id": {
              "type": "integer",
              "minimum": 1,
              "maximum": 37
            },
            "name": {
              "type": "string",
              "minLength": 0,
              "maxLength": 100,
              "pattern": "^[^\\u0000]*$"
            },
            "enabled": {
              "type": "boolean"
            },
            "has_audio": {
              "type": "boolean"
            }
          }
        },
        "maxItems": 16
      },
      "attributes": {
        "type": "object",
        "additionalProperties": true
      }
    }
  },
  "changeVehicleOwner": {
    "type": "object",
    "required": [
      "owner_user_id"
    ],
    "properties": {
      "owner_user_id": {
        "type": "integer",
        "minimum": 1,
        "maximum": 9007199254740991
      }
    }
  },
  "lookUpUnassignedDevice": {
    "type": "object",
    "required": [
      "imei"
    ],
    "properties": {
      "imei": {
        "type": "string",
        "minLength": 1,
        "maxLength": 20,
        "pattern": "^[^\\u0000]*$"
      }
    }
  },
  "startSharedStream": {
    "type": "object",
    "properties": {
      "channel_id": {
        "type": "integer",
        "minimum": 1,
        "maximum": 255
      },
      "ticket": {
        "type": "string",
        "maxLength": 1024
      }
    }
  },
  "startDashcamPlayback": {
    "type": "object",
    "required": [
      "from",
      "to"
    ],
    "properties": {
      "channel_id": {
        "type": "integer",
        "minimum": 1,
        "maximum": 255
      },
      "from": {
        "type": "string",
        "maxLength": 40
      },
      "to": {
        "type": "string",
        "maxLength": 40
      },
      "stream_type": {
        "type": "string",
        "enum": [
          "LOW",
          "HIGH"
        ]
      },
      "memory_type": {
        "type": "integer",
        "minimum": 0,
        "maximum": 2
      },
      "takeover": {
        "type": "boolean"
      }
    }
  },
  "controlDashcamPlayback": {
    "type": "object",
    "required": [
      "playback_control"
    ],
    "properties": {
      "channel_id": {
        "type": "integer",
        "minimum": 1,
        "maximum": 255
      },
      "playback_control": {
        "type": "integer",
        "minimum": 0,
        "maximum": 6
      },
      "fast_forward_rewind_times": {
        "type": "integer",
        "minimum": 0,
        "maximum": 5
      },
      "drag_playback_time": {
        "type": "string",
        "maxLength": 40
      }
    }
  },
  "startDashcamStream": {
    "type": "object",
    "properties": {
      "channel_id": {
        "type": "integer",
        "minimum": 1,
        "maximum": 255
      },
      "stream_type": {
        "type": "string",
        "pattern": "^([Ll][Oo][Ww]|[Hh][Ii][Gg][Hh])$"
      },
      "audio": {
        "type": "boolean"
      },
      "wake": {
        "type": "boolean"
      }
    }
  },
  "stopDashcamStream": {
    "type": "object",
    "properties": {
      "channel_id": {
        "type": "integer",
        "minimum": 1,
        "maximum": 255
      },
      "force": {
        "type": "boolean"
      }
    }
  },
  "broadcastVoice": {
    "type": "object",
    "properties": {
      "vehicle_ids": {
        "type": "array",
        "items": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9007199254740991
        },
        "minItems": 1,
        "maxItems": 100
      },
      "group_id": {
        "type": "integer",
        "minimum": 1
      },
      "channel_id": {
        "type": "integer",
        "minimum": 1,
        "maximum": 255
      },
      "audio": {},
      "content_base64": {
        "type": "string",
        "maxLength": 6000000
      },
      "text": {
        "type": "string",
        "minLength": 1,
        "maxLength": 500
      },
      "language": {
        "type": "string",
        "pattern": "^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$"
      }
    }
  },
  "updateDashcamMedia": {
    "type": "object",
    "properties": {
      "protected": {
        "type": "boolean"
      }
    }
  },
  "requestDownload": {
    "type": "object",
    "required": [
      "vehicle_id",
      "channel_id",
      "from",
      "to"
    ],
    "properties": {
      "vehicle_id": {
        "type": "integer",
        "minimum": 1,
        "maximum": 9007199254740991
      },
      "channel_id": {
        "type": "integer",
        "minimum": 1,
        "maximum": 255
      },
      "from": {
        "type": "string",
        "maxLength": 40
      },
      "to": {
        "type": "string",
        "maxLength": 40
      },
      "networks": {
        "type": "array",
        "items": {
          "type": "string",
          "enum": [
            "wifi",
            "lan",
            "mobile"
          ]
        },
        "minItems": 1,
        "maxItems": 3,
        "uniqueItems": true
      }
    }
  },
  "controlDownload": {
    "type": "object",
    "required": [
      "action"
    ],
    "properties": {
      "action": {
        "type": "string",
        "enum": [
          "pause",
          "resume",
          "cancel"
        ]
      }
    }
  },
  "createDriver": {
    "type": "object",
    "required": [
      "name"
    ],
    "properties": {
      "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "phone_number": {
        "minLength": 1,
        "maxLength": 40,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "email": {
        "format": "email",
        "maxLength": 254,
        "type": [
          "string",
          "null"
        ]
      },
      "address": {
        "minLength": 0,
        "maxLength": 500,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "photo_url": {
        "format": "uri",
        "pattern": "^https?://",
        "maxLength": 2048,
        "type": [
          "string",
          "null"
        ]
      },
      "notes": {
        "minLength": 0,
        "maxLength": 2000,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "license_number": {
        "minLength": 1,
        "maxLength": 60,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "license_class": {
        "minLength": 1,
        "maxLength": 40,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "license_country": {
        "minLength": 1,
        "maxLength": 60,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "license_issue_date": {
        "format": "date",
        "type": [
          "string",
          "null"
        ]
      },
      "license_expiry_date": {
        "format": "date",
        "type": [
          "string",
          "null"
        ]
      },
      "date_of_birth": {
        "format": "date",
        "type": [
          "string",
          "null"
        ]
      },
      "blood_group": {
        "pattern": "^(A|B|AB|O)[+-]$",
        "type": [
          "string",
          "null"
        ]
      },
      "emergency_contact": {
        "required": [
          "name",
          "phone_number"
        ],
        "properties": {
          "name": {
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
            "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
          },
          "phone_number": {
            "type": "string",
            "minLength": 1,
            "maxLength": 40,
            "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
          }
        },
        "type": [
          "object",
          "null"
        ]
      },
      "card_number": {
        "minLength": 1,
        "maxLength": 60,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "vehicle_ids": {
        "type": "array",
        "items": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9007199254740991
        },
        "maxItems": 1000
      },
      "status": {
        "type": "string",
        "enum": [
          "active",
          "inactive"
        ]
      },
      "attributes": {
        "type": "object",
        "additionalProperties": true
      }
    }
  },
  "updateDriver": {
    "type": "object",
    "properties": {
      "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "phone_number": {
        "minLength": 1,
        "maxLength": 40,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "email": {
        "format": "email",
        "maxLength": 254,
        "type": [
          "string",
          "null"
        ]
      },
      "address": {
        "minLength": 0,
        "maxLength": 500,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "photo_url": {
        "format": "uri",
        "pattern": "^https?://",
        "maxLength": 2048,
        "type": [
          "string",
          "null"
        ]
      },
      "notes": {
        "minLength": 0,
        "maxLength": 2000,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "license_number": {
        "minLength": 1,
        "maxLength": 60,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "license_class": {
        "minLength": 1,
        "maxLength": 40,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "license_country": {
        "minLength": 1,
        "maxLength": 60,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "license_issue_date": {
        "format": "date",
        "type": [
          "string",
          "null"
        ]
      },
      "license_expiry_date": {
        "format": "date",
        "type": [
          "string",
          "null"
        ]
      },
      "date_of_birth": {
        "format": "date",
        "type": [
          "string",
          "null"
        ]
      },
      "blood_group": {
        "pattern": "^(A|B|AB|O)[+-]$",
        "type": [
          "string",
          "null"
        ]
      },
      "emergency_contact": {
        "required": [
          "name",
          "phone_number"
        ],
        "properties": {
          "name": {
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
            "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
          },
          "phone_number": {
            "type": "string",
            "minLength": 1,
            "maxLength": 40,
            "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
          }
        },
        "type": [
          "object",
          "null"
        ]
      },
      "card_number": {
        "minLength": 1,
        "maxLength": 60,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "vehicle_ids": {
        "type": "array",
        "items": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9007199254740991
        },
        "maxItems": 1000
      },
      "status": {
        "type": "string",
        "enum": [
          "active",
          "inactive"
        ]
      },
      "attributes": {
        "type": "object",
        "additionalProperties": true
      }
    }
  },
  "createVehicleGroup": {
    "type": "object",
    "required": [
      "name"
    ],
    "properties": {
      "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "description": {
        "minLength": 0,
        "maxLength": 1000,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "color": {
        "pattern": "^#[0-9A-Fa-f]{6}$",
        "type": [
          "string",
          "null"
        ]
      },
      "parent_group": {
        "minimum": 1,
        "maximum": 9007199254740991,
        "type": [
          "integer",
          "null"
        ]
      },
      "vehicles": {
        "type": "array",
        "items": {
          "anyOf": [
            {
              "type": "integer",
              "minimum": 1,
              "maximum": 9007199254740991
            },
            {
              "type": "object",
              "required": [
                "id"
              ],
              "properties": {
                "id": {
                  "type": "integer",
                  "minimum": 1,
                  "maximum": 9007199254740991
                }
              }
            }
          ]
        },
        "maxItems": 10000
      },
      "geofences": {
        "type": "array",
        "items": {
          "anyOf": [
            {
              "type": "integer",
              "minimum": 1,
              "maximum": 9007199254740991
            },
            {
              "type": "object",
              "required": [
                "id"
              ],
              "properties": {
                "id": {
                  "type": "integer",
                  "minimum": 1,
                  "maximum": 9007199254740991
                }
              }
            }
          ]
        },
        "maxItems": 10000
      },
      "drivers": {
        "type": "array",
        "items": {
          "anyOf": [
            {
              "type": "integer",
              "minimum": 1,
              "maximum": 9007199254740991
            },
            {
              "type": "object",
              "required": [
                "id"
              ],
              "properties": {
                "id": {
                  "type": "integer",
                  "minimum": 1,
                  "maximum": 9007199254740991
                }
              }
            }
          ]
        },
        "maxItems": 10000
      }
    }
  },
  "updateVehicleGroup": {
    "type": "object",
    "properties": {
      "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "description": {
        "minLength": 0,
        "maxLength": 1000,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "color": {
        "pattern": "^#[0-9A-Fa-f]{6}$",
        "type": [
          "string",
          "null"
        ]
      },
      "parent_group": {
        "minimum": 1,
        "maximum": 9007199254740991,
        "type": [
          "integer",
          "null"
        ]
      },
      "vehicles": {
        "type": "array",
        "items": {
          "anyOf": [
            {
              "type": "integer",
              "minimum": 1,
              "maximum": 9007199254740991
            },
            {
              "type": "object",
              "required": [
                "id"
              ],
              "properties": {
                "id": {
                  "type": "integer",
                  "minimum": 1,
                  "maximum": 9007199254740991
                }
              }
            }
          ]
        },
        "maxItems": 10000
      },
      "geofences": {
        "type": "array",
        "items": {
          "anyOf": [
            {
              "type": "integer",
              "minimum": 1,
              "maximum": 9007199254740991
            },
            {
              "type": "object",
              "required": [
                "id"
              ],
              "properties": {
                "id": {
                  "type": "integer",
                  "minimum": 1,
                  "maximum": 9007199254740991
                }
              }
            }
          ]
        },
        "maxItems": 10000
      },
      "drivers": {
        "type": "array",
        "items": {
          "anyOf": [
            {
              "type": "integer",
              "minimum": 1,
              "maximum": 9007199254740991
            },
            {
              "type": "object",
              "required": [
                "id"
              ],
              "properties": {
                "id": {
                  "type": "integer",
                  "minimum": 1,
                  "maximum": 9007199254740991
                }
              }
            }
          ]
        },
        "maxItems": 10000
      },
      "add_vehicles": {
        "type": "array",
        "items": {
          "anyOf": [
            {
              "type": "integer",
              "minimum": 1,
              "maximum": 9007199254740991
            },
            {
              "type": "object",
              "required": [
                "id"
              ],
              "properties": {
                "id": {
                  "type": "integer",
                  "minimum": 1,
                  "maximum": 9007199254740991
                }
              }
            }
          ]
        },
        "maxItems": 10000
      },
      "remove_vehicles": {
        "type": "array",
        "items": {
          "anyOf": [
            {
              "type": "integer",
              "minimum": 1,
              "maximum": 9007199254740991
            },
            {
              "type": "object",
              "required": [
                "id"
              ],
              "properties": {
                "id": {
                  "type": "integer",
                  "minimum": 1,
                  "maximum": 9007199254740991
                }
              }
            }
          ]
        },
        "maxItems": 10000
      }
    }
  },
  "createGeofence": {
    "type": "object",
    "required": [
      "name",
      "coordinates"
    ],
    "properties": {
      "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "coordinates": {
        "type": "array",
        "items": {
          "type": "array",
          "items": {
            "type": "number"
          },
          "minItems": 2,
          "maxItems": 2
        },
        "minItems": 1,
        "maxItems": 501
      },
      "type": {
        "type": "string",
        "enum": [
          "polygon",
          "circle",
          "corridor"
        ]
      },
      "coordinate_order": {
        "type": "string",
        "enum": [
          "latlng",
          "lnglat"
        ]
      },
      "radius_m": {
        "minimum": 20,
        "maximum": 100000,
        "type": [
          "number",
          "null"
        ]
      },
      "width_m": {
        "minimum": 10,
        "maximum": 5000,
        "type": [
          "number",
          "null"
        ]
      },
      "color": {
        "pattern": "^#[0-9A-Fa-f]{6}$",
        "type": [
          "string",
          "null"
        ]
      },
      "description": {
        "minLength": 0,
        "maxLength": 1000,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "notify_on": {
        "type": "array",
        "items": {
          "type": "string",
          "enum": [
            "enter",
            "exit",
            "dwell"
          ]
        },
        "maxItems": 20
      },
      "dwell_seconds": {
        "minimum": 60,
        "maximum": 86400,
        "type": [
          "integer",
          "null"
        ]
      },
      "speed_limit_kmh": {
        "minimum": 5,
        "maximum": 200,
        "type": [
          "integer",
          "null"
        ]
      },
      "schedule": {
        "required": [
          "timezone",
          "days",
          "from",
          "to"
        ],
        "properties": {
          "timezone": {
            "type": "string",
            "minLength": 1,
            "maxLength": 60
          },
          "days": {
            "type": "array",
            "items": {
              "type": "integer",
              "minimum": 1,
              "maximum": 7
            },
            "minItems": 1,
            "maxItems": 7
          },
          "from": {
            "type": "string",
            "pattern": "^([01]\\d|2[0-3]):[0-5]\\d$"
          },
          "to": {
            "type": "string",
            "pattern": "^(([01]\\d|2[0-3]):[0-5]\\d|24:00)$"
          }
        },
        "type": [
          "object",
          "null"
        ]
      },
      "vehicles": {
        "type": "array",
        "items": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9007199254740991
        },
        "maxItems": 10000
      },
      "groups": {
        "type": "array",
        "items": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9007199254740991
        },
        "maxItems": 1000
      },
      "push_to_terminal": {
        "type": "boolean"
      },
      "attributes": {
        "type": "object",
        "additionalProperties": true
      }
    }
  },
  "updateGeofence": {
    "type": "object",
    "properties": {
      "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "coordinates": {
        "type": "array",
        "items": {
          "type": "array",
          "items": {
            "type": "number"
          },
          "minItems": 2,
          "maxItems": 2
        },
        "minItems": 1,
        "maxItems": 501
      },
      "type": {
        "type": "string",
        "enum": [
          "polygon",
          "circle",
          "corridor"
        ]
      },
      "coordinate_order": {
        "type": "string",
        "enum": [
          "latlng",
          "lnglat"
        ]
      },
      "radius_m": {
        "minimum": 20,
        "maximum": 100000,
        "type": [
          "number",
          "null"
        ]
      },
      "width_m": {
        "minimum": 10,
        "maximum": 5000,
        "type": [
          "number",
          "null"
        ]
      },
      "color": {
        "pattern": "^#[0-9A-Fa-f]{6}$",
        "type": [
          "string",
          "null"
        ]
      },
      "description": {
        "minLength": 0,
        "maxLength": 1000,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "notify_on": {
        "type": "array",
        "items": {
          "type": "string",
          "enum": [
            "enter",
            "exit",
            "dwell"
          ]
        },
        "maxItems": 20
      },
      "dwell_seconds": {
        "minimum": 60,
        "maximum": 86400,
        "type": [
          "integer",
          "null"
        ]
      },
      "speed_limit_kmh": {
        "minimum": 5,
        "maximum": 200,
        "type": [
          "integer",
          "null"
        ]
      },
      "schedule": {
        "required": [
          "timezone",
          "days",
          "from",
          "to"
        ],
        "properties": {
          "timezone": {
            "type": "string",
            "minLength": 1,
            "maxLength": 60
          },
          "days": {
            "type": "array",
            "items": {
              "type": "integer",
              "minimum": 1,
              "maximum": 7
            },
            "minItems": 1,
            "maxItems": 7
          },
          "from": {
            "type": "string",
            "pattern": "^([01]\\d|2[0-3]):[0-5]\\d$"
          },
          "to": {
            "type": "string",
            "pattern": "^(([01]\\d|2[0-3]):[0-5]\\d|24:00)$"
          }
        },
        "type": [
          "object",
          "null"
        ]
      },
      "vehicles": {
        "type": "array",
        "items": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9007199254740991
        },
        "maxItems": 10000
      },
      "groups": {
        "type": "array",
        "items": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9007199254740991
        },
        "maxItems": 1000
      },
      "push_to_terminal": {
        "type": "boolean"
      },
      "attributes": {
        "type": "object",
        "additionalProperties": true
      }
    }
  },
  "createRoute": {
    "type": "object",
    "required": [
      "name"
    ],
    "properties": {
      "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "description": {
        "minLength": 0,
        "maxLength": 1000,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "color": {
        "pattern": "^#[0-9A-Fa-f]{6}$",
        "type": [
          "string",
          "null"
        ]
      },
      "waypoints": {
        "type": "array",
        "items": {
          "type": "object",
          "required": [
            "lat",
            "lng"
          ],
          "properties": {
            "lat": {
              "type": "number",
              "minimum": -90,
              "maximum": 90
            },
            "lng": {
              "type": "number",
              "minimum": -180,
              "maximum": 180
            },
            "name": {
              "minLength": 0,
              "maxLength": 100,
              "pattern": "^[^\\u0000]*$",
              "type": [
                "string",
                "null"
              ]
            },
            "radius_m": {
              "type": "integer",
              "minimum": 10,
              "maximum": 5000
            },
            "stop_seconds": {
              "minimum": 0,
              "maximum": 86400,
              "type": [
                "integer",
                "null"
              ]
            }
          }
        },
        "maxItems": 50
      },
      "path": {
        "type": [
          "array",
          "null"
        ],
        "items": {
          "type": "array",
          "items": {
            "type": "number"
          },
          "minItems": 2,
          "maxItems": 2
        },
        "minItems": 2,
        "maxItems": 10000
      },
      "polyline": {
        "minLength": 1,
        "maxLength": 200000,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "profile": {
        "type": "string",
        "enum": [
          "car",
          "truck"
        ]
      },
      "deviation_m": {
        "type": "integer",
        "minimum": 20,
        "maximum": 5000
      },
      "notify_on": {
        "type": "array",
        "items": {
          "type": "string",
          "enum": [
            "deviation",
            "return",
            "waypoint_arrival",
            "completed"
          ]
        },
        "maxItems": 20
      },
      "schedule": {
        "required": [
          "timezone",
          "days",
          "from",
          "to"
        ],
        "properties": {
          "timezone": {
            "type": "string",
            "minLength": 1,
            "maxLength": 60
          },
          "days": {
            "type": "array",
            "items": {
              "type": "integer",
              "minimum": 1,
              "maximum": 7
            },
            "minItems": 1,
            "maxItems": 7
          },
          "from": {
            "type": "string",
            "pattern": "^([01]\\d|2[0-3]):[0-5]\\d$"
          },
          "to": {
            "type": "string",
            "pattern": "^(([01]\\d|2[0-3]):[0-5]\\d|24:00)$"
          }
        },
        "type": [
          "object",
          "null"
        ]
      },
      "speed_limit_kmh": {
        "minimum": 5,
        "maximum": 200,
        "type": [
          "integer",
          "null"
        ]
      },
      "active": {
        "type": "boolean"
      }
    }
  },
  "updateRoute": {
    "type": "object",
    "properties": {
      "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "description": {
        "minLength": 0,
        "maxLength": 1000,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "color": {
        "pattern": "^#[0-9A-Fa-f]{6}$",
        "type": [
          "string",
          "null"
        ]
      },
      "waypoints": {
        "type": "array",
        "items": {
          "type": "object",
          "required": [
            "lat",
            "lng"
          ],
          "properties": {
            "lat": {
              "type": "number",
              "minimum": -90,
              "maximum": 90
            },
            "lng": {
              "type": "number",
              "minimum": -180,
              "maximum": 180
            },
            "name": {
              "minLength": 0,
              "maxLength": 100,
              "pattern": "^[^\\u0000]*$",
              "type": [
                "string",
                "null"
              ]
            },
            "radius_m": {
              "type": "integer",
              "minimum": 10,
              "maximum": 5000
            },
            "stop_seconds": {
              "minimum": 0,
              "maximum": 86400,
              "type": [
                "integer",
                "null"
              ]
            }
          }
        },
        "maxItems": 50
      },
      "path": {
        "type": [
          "array",
          "null"
        ],
        "items": {
          "type": "array",
          "items": {
            "type": "number"
          },
          "minItems": 2,
          "maxItems": 2
        },
        "minItems": 2,
        "maxItems": 10000
      },
      "polyline": {
        "minLength": 1,
        "maxLength": 200000,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "profile": {
        "type": "string",
        "enum": [
          "car",
          "truck"
        ]
      },
      "deviation_m": {
        "type": "integer",
        "minimum": 20,
        "maximum": 5000
      },
      "notify_on": {
        "type": "array",
        "items": {
          "type": "string",
          "enum": [
            "deviation",
            "return",
            "waypoint_arrival",
            "completed"
          ]
        },
        "maxItems": 20
      },
      "schedule": {
        "required": [
          "timezone",
          "days",
          "from",
          "to"
        ],
        "properties": {
          "timezone": {
            "type": "string",
            "minLength": 1,
            "maxLength": 60
          },
          "days": {
            "type": "array",
            "items": {
              "type": "integer",
              "minimum": 1,
              "maximum": 7
            },
            "minItems": 1,
            "maxItems": 7
          },
          "from": {
            "type": "string",
            "pattern": "^([01]\\d|2[0-3]):[0-5]\\d$"
          },
          "to": {
            "type": "string",
            "pattern": "^(([01]\\d|2[0-3]):[0-5]\\d|24:00)$"
          }
        },
        "type": [
          "object",
          "null"
        ]
      },
      "speed_limit_kmh": {
        "minimum": 5,
        "maximum": 200,
        "type": [
          "integer",
          "null"
        ]
      },
      "active": {
        "type": "boolean"
      }
    }
  },
  "linkRoutes": {
    "type": "object",
    "required": [
      "route_ids"
    ],
    "properties": {
      "route_ids": {
        "type": "array",
        "items": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9007199254740991
        },
        "minItems": 1,
        "maxItems": 50
      }
    }
  },
  "unlinkRoutes": {
    "type": "object",
    "required": [
      "route_ids"
    ],
    "properties": {
      "route_ids": {
        "type": "array",
        "items": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9007199254740991
        },
        "minItems": 1,
        "maxItems": 50
      }
    }
  },
  "snapToRoad": {
    "type": "object",
    "required": [
      "coordinates"
    ],
    "properties": {
      "coordinates": {
        "type": "array",
        "items": {
          "type": "object",
          "required": [
            "lat",
            "lng"
          ],
          "properties": {
            "lat": {
              "type": "number",
              "minimum": -90,
              "maximum": 90
            },
            "lng": {
              "type": "number",
              "minimum": -180,
              "maximum": 180
            },
            "timestamp": {
              "type": "integer",
              "minimum": 0,
              "maximum": 253402300799999
            },
            "accuracy_m": {
              "type": "number",
              "minimum": 0,
              "maximum": 10000
            }
          }
        },
        "minItems": 2,
        "maxItems": 1000
      },
      "profile": {
        "type": "string",
        "enum": [
          "car",
          "truck"
        ]
      }
    }
  },
  "acknowledgeNotification": {
    "type": "object",
    "properties": {
      "note": {
        "minLength": 0,
        "maxLength": 1000,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      }
    }
  },
  "acknowledgeNotifications": {
    "type": "object",
    "required": [
      "ids"
    ],
    "properties": {
      "ids": {
        "type": "array",
        "items": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9007199254740991
        },
        "minItems": 1,
        "maxItems": 200
      },
      "note": {
        "minLength": 0,
        "maxLength": 1000,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      }
    }
  },
  "updateVehiclePreferences": {
    "type": "object",
    "required": [
      "notification_types"
    ],
    "properties": {
      "notification_types": {
        "type": "array",
        "items": {
          "type": "string",
          "maxLength": 100
        },
        "maxItems": 500
      },
      "channels": {
        "type": "array",
        "items": {
          "type": "string",
          "enum": [
            "push",
            "sms",
            "email"
          ]
        },
        "maxItems": 10
      }
    }
  },
  "updatePushToken": {
    "type": "object",
    "required": [
      "push_token"
    ],
    "properties": {
      "push_token": {
        "type": "string",
        "minLength": 0,
        "maxLength": 4096,
        "pattern": "^[^\\u0000]*$"
      },
      "platform": {
        "type": [
          "string",
          "null"
        ],
        "enum": [
          "android",
          "ios",
          "web",
          null
        ]
      },
      "device_id": {
        "minLength": 1,
        "maxLength": 200,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      }
    }
  },
  "updateUserPreferences": {
    "type": "object",
    "properties": {
      "language": {
        "type": "string",
        "pattern": "^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$"
      },
      "timezone": {
        "type": "string",
        "minLength": 1,
        "maxLength": 60,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "distance_unit": {
        "type": "string",
        "enum": [
          "km",
          "mi"
        ]
      },
      "speed_unit": {
        "type": "string",
        "enum": [
          "kmh",
          "mph",
          "kn"
        ]
      },
      "volume_unit": {
        "type": "string",
        "enum": [
          "l",
          "gal"
        ]
      },
      "date_format": {
        "type": "string",
        "minLength": 1,
        "maxLength": 30,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "time_format": {
        "type": "string",
        "enum": [
          "24h",
          "12h"
        ]
      },
      "theme": {
        "type": "string",
        "enum": [
          "system",
          "light",
          "dark"
        ]
      },
      "map": {
        "type": "object",
        "properties": {
          "style": {
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
            "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
          },
          "center": {
            "anyOf": [
              {
                "type": "object",
                "required": [
                  "lat",
                  "lng"
                ],
                "properties": {
                  "lat": {
                    "type": "number",
                    "minimum": -90,
                    "maximum": 90
                  },
                  "lng": {
                    "type": "number",
                    "minimum": -180,
                    "maximum": 180
                  }
                }
              },
              {
                "type": "null"
              }
            ]
          },
          "zoom": {
            "type": "number",
            "minimum": 0,
            "maximum": 24
          },
          "follow": {
            "type": "boolean"
          },
          "clusters": {
            "type": "boolean"
          }
        }
      },
      "notifications": {
        "type": "object",
        "properties": {
          "push": {
            "type": "boolean"
          },
          "sms": {
            "type": "boolean"
          },
          "email": {
            "type": "boolean"
          },
          "sound": {
            "type": "boolean"
          },
          "quiet_hours": {
            "anyOf": [
              {
                "type": "object",
                "required": [
                  "from",
                  "to"
                ],
                "properties": {
                  "from": {
                    "type": "string",
                    "pattern": "^([01]\\d|2[0-3]):[0-5]\\d$"
                  },
                  "to": {
                    "type": "string",
                    "pattern": "^([01]\\d|2[0-3]):[0-5]\\d$"
                  }
                }
              },
              {
                "type": "null"
              }
            ]
          }
        }
      },
      "default_group_id": {
        "minimum": 1,
        "maximum": 9007199254740991,
        "type": [
          "integer",
          "null"
        ]
      },
      "video": {
        "type": "object",
        "properties": {
          "stream_type": {
            "type": "string",
            "enum": [
              "LOW",
              "HIGH"
            ]
          },
          "grid": {
            "type": "integer",
            "minimum": 1,
            "maximum": 36
          },
          "audio": {
            "type": "boolean"
          },
          "data_budget_mb": {
            "minimum": 1,
            "maximum": 100000000,
            "type": [
              "integer",
              "null"
            ]
          },
          "over_budget": {
            "type": "string",
            "enum": [
              "notify",
              "sub_stream",
              "refuse"
            ]
          },
          "vehicle_data_budgets": {
            "type": "array",
            "items": {
              "type": "object",
              "required": [
                "vehicle_id",
                "data_budget_mb",
                "over_budget"
              ],
              "properties": {
                "vehicle_id": {
                  "type": "integer",
                  "minimum": 1,
                  "maximum": 9007199254740991
                },
                "data_budget_mb": {
                  "minimum": 1,
                  "maximum": 100000000,
                  "type": [
                    "integer",
                    "null"
                  ]
                },
                "over_budget": {
                  "type": "string",
                  "enum": [
                    "notify",
                    "sub_stream",
                    "refuse"
                  ]
                }
              }
            },
            "maxItems": 1000
          }
        }
      },
      "dashboard": {
        "type": "object",
        "additionalProperties": true
      }
    }
  },
  "updateGlobalConfig": {
    "type": "object",
    "properties": {
      "sms": {
        "type": "object",
        "properties": {
          "enabled": {
            "type": "boolean"
          },
          "provider": {
            "type": "string",
            "pattern": "^[a-z0-9_-]{1,40}$"
          },
          "sender_id": {
            "minLength": 1,
            "maxLength": 20,
            "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
            "type": [
              "string",
              "null"
            ]
          },
          "notification_types": {
            "type": "array",
            "items": {
              "type": "string",
              "maxLength": 100
            },
            "maxItems": 500
          },
          "daily_limit": {
            "type": "integer",
            "minimum": 0,
            "maximum": 1000000
          },
          "quiet_hours": {
            "anyOf": [
              {
                "type": "object",
                "required": [
                  "from",
                  "to"
                ],
                "properties": {
                  "from": {
                    "type": "string",
                    "pattern": "^([01]\\d|2[0-3]):[0-5]\\d$"
                  },
                  "to": {
                    "type": "string",
                    "pattern": "^([01]\\d|2[0-3]):[0-5]\\d$"
                  }
                }
              },
              {
                "type": "null"
              }
            ]
          }
        }
      },
      "push": {
        "type": "object",
        "properties": {
          "enabled": {
            "type": "boolean"
          },
          "provider": {
            "type": "string",
            "pattern": "^[a-z0-9_-]{1,40}$"
          },
          "notification_types": {
            "type": "array",
            "items": {
              "type": "string",
              "maxLength": 100
            },
            "maxItems": 500
          },
          "dedupe_seconds": {
            "type": "integer",
            "minimum": 0,
            "maximum": 86400
          },
          "quiet_hours": {
            "anyOf": [
              {
                "type": "object",
                "required": [
                  "from",
                  "to"
                ],
                "properties": {
                  "from": {
                    "type": "string",
                    "pattern": "^([01]\\d|2[0-3]):[0-5]\\d$"
                  },
                  "to": {
                    "type": "string",
                    "pattern": "^([01]\\d|2[0-3]):[0-5]\\d$"
                  }
                }
              },
              {
                "type": "null"
              }
            ]
          }
        }
      },
      "email": {
        "type": "object",
        "properties": {
          "enabled": {
            "type": "boolean"
          },
          "from": {
            "format": "email",
            "maxLength": 254,
            "type": [
              "string",
              "null"
            ]
          },
          "notification_types": {
            "type": "array",
            "items": {
              "type": "string",
              "maxLength": 100
            },
            "maxItems": 500
          }
        }
      },
      "retention": {
        "type": "object",
        "properties": {
          "locations_days": {
            "type": "integer",
            "minimum": 1,
            "maximum": 3650
          },
          "notifications_days": {
            "type": "integer",
            "minimum": 1,
            "maximum": 3650
          },
          "media_days": {
            "type": "integer",
            "minimum": 1,
            "maximum": 3650
          }
        }
      }
    }
  },
  "searchUserForShare": {
    "type": "object",
    "required": [
      "phone_number"
    ],
    "properties": {
      "phone_number": {
        "type": "string",
        "minLength": 1,
        "maxLength": 40
      }
    }
  },
  "shareVehicles": {
    "type": "object",
    "required": [
      "secondary_user",
      "vehicles"
    ],
    "properties": {
      "secondary_user": {
        "type": "integer",
        "minimum": 1,
        "maximum": 9007199254740991
      },
      "vehicles": {
        "type": "array",
        "items": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9007199254740991
        },
        "minItems": 1,
        "maxItems": 200
      },
      "permissions": {
        "type": "array",
        "items": {
          "type": "string",
          "enum": [
            "view",
            "live_video",
            "history_video",
            "notifications",
            "commands"
          ]
        },
        "maxItems": 20
      },
      "expires_at": {
        "format": "date-time",
        "type": [
          "string",
          "null"
        ]
      }
    }
  },
  "removeShareVehicles": {
    "type": "object",
    "required": [
      "secondary_user"
    ],
    "properties": {
      "secondary_user": {
        "type": "integer",
        "minimum": 1,
        "maximum": 9007199254740991
      },
      "vehicles": {
        "type": "array",
        "items": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9007199254740991
        },
        "maxItems": 10000
      }
    }
  },
  "createShareLink": {
    "type": "object",
    "required": [
      "vehicle_id"
    ],
    "properties": {
      "vehicle_id": {
        "type": "integer",
        "minimum": 1,
        "maximum": 9007199254740991
      },
      "expires_in_hours": {
        "type": "integer",
        "minimum": 1,
        "maximum": 720
      },
      "label": {
        "minLength": 0,
        "maxLength": 100,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "permissions": {
        "type": "array",
        "items": {
          "type": "string",
          "enum": [
            "location",
            "live_video"
          ]
        },
        "minItems": 1,
        "maxItems": 10
      },
      "history_minutes": {
        "type": "integer",
        "minimum": 0,
        "maximum": 1440
      },
      "password": {
        "minLength": 4,
        "maxLength": 64,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "max_views": {
        "minimum": 1,
        "maximum": 1000000,
        "type": [
          "integer",
          "null"
        ]
      },
      "destination": {
        "anyOf": [
          {
            "type": "object",
            "required": [
              "latitude",
              "longitude"
            ],
            "properties": {
              "latitude": {
                "type": "number",
                "minimum": -90,
                "maximum": 90
              },
              "longitude": {
                "type": "number",
                "minimum": -180,
                "maximum": 180
              },
              "name": {
                "minLength": 0,
                "maxLength": 200,
                "pattern": "^[^\\u0000]*$",
                "type": [
                  "string",
                  "null"
                ]
              }
            }
          },
          {
            "type": "null"
          }
        ]
      }
    }
  },
  "createWebhook": {
    "type": "object",
    "required": [
      "url"
    ],
    "properties": {
      "url": {
        "type": "string",
        "minLength": 1
      },
      "secret": {
        "type": "string",
        "minLength": 8,
        "maxLength": 128,
        "pattern": "^[\\x21-\\x7e]*$"
      },
      "name": {
        "minLength": 0,
        "maxLength": 100,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "notification_types": {
        "type": "array",
        "items": {
          "type": "string",
          "maxLength": 100
        },
        "maxItems": 500
      },
      "vehicle_ids": {
        "type": "array",
        "items": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9007199254740991
        },
        "maxItems": 1000
      },
      "headers": {
        "type": "object",
        "additionalProperties": {
          "type": "string",
          "maxLength": 1000,
          "pattern": "^[\\x20-\\x7e]*$"
        },
        "maxProperties": 10
      },
      "enabled": {
        "type": "boolean"
      }
    }
  },
  "updateWebhook": {
    "type": "object",
    "properties": {
      "url": {
        "type": "string",
        "minLength": 1
      },
      "secret": {
        "type": "string",
        "minLength": 8,
        "maxLength": 128,
        "pattern": "^[\\x21-\\x7e]*$"
      },
      "name": {
        "minLength": 0,
        "maxLength": 100,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "notification_types": {
        "type": "array",
        "items": {
          "type": "string",
          "maxLength": 100
        },
        "maxItems": 500
      },
      "vehicle_ids": {
        "type": "array",
        "items": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9007199254740991
        },
        "maxItems": 1000
      },
      "headers": {
        "type": "object",
        "additionalProperties": {
          "type": "string",
          "maxLength": 1000,
          "pattern": "^[\\x20-\\x7e]*$"
        },
        "maxProperties": 10
      },
      "enabled": {
        "type": "boolean"
      }
    }
  },
  "regenerateWebhookSecret": {
    "type": "object",
    "required": [],
    "properties": {
      "secret": {
        "type": "string",
        "minLength": 8,
        "maxLength": 128,
        "pattern": "^[\\x21-\\x7e]*$"
      },
      "grace_hours": {
        "type": "integer",
        "minimum": 0,
        "maximum": 72
      }
    }
  },
  "testWebhook": {
    "type": "object",
    "required": [],
    "properties": {
      "notification_type": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100
      }
    }
  },
  "replayDeliveries": {
    "type": "object",
    "required": [
      "since"
    ],
    "properties": {
      "since": {
        "type": "string",
        "maxLength": 40
      },
      "until": {
        "type": "string",
        "maxLength": 40
      },
      "statuses": {
        "type": "array",
        "items": {
          "type": "string",
          "enum": [
            "failed",
            "skipped"
          ]
        },
        "minItems": 1,
        "maxItems": 2
      }
    }
  },
  "createMiningDevice": {
    "type": "object",
    "required": [
      "imei"
    ],
    "properties": {
      "imei": {
        "type": "string",
        "pattern": "^(\\d{12}|\\d{15}|\\d{20})$"
      },
      "vehicle_no": {
        "minLength": 1,
        "maxLength": 40,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "permit_no": {
        "minLength": 1,
        "maxLength": 60,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "site": {
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "owner_name": {
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "status": {
        "type": "string",
        "enum": [
          "pending",
          "active",
          "inactive"
        ]
      },
      "attributes": {
        "type": "object",
        "additionalProperties": true
      }
    }
  },
  "listMiningDevices": {
    "type": "object",
    "properties": {
      "page": {
        "type": "integer",
        "minimum": 1,
        "maximum": 1000000
      },
      "limit": {
        "type": "integer",
        "minimum": 1
      },
      "sort": {
        "type": "string",
        "enum": [
          "id",
          "-id",
          "imei",
          "-imei",
          "vehicle_no",
          "-vehicle_no",
          "last_seen",
          "-last_seen",
          "created_at",
          "-created_at"
        ]
      },
      "query": {
        "minLength": 0,
        "maxLength": 200,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "filters": {
        "type": "object",
        "properties": {
          "status": {
            "type": "string",
            "enum": [
              "pending",
              "active",
              "inactive"
            ]
          },
          "site": {
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
            "pattern": "^[^\\u0000]*$"
          },
          "seen_since": {
            "type": [
              "string",
              "integer"
            ],
            "minimum": 0,
            "maximum": 8640000000000000,
            "maxLength": 40
          },
          "created_from": {
            "type": [
              "string",
              "integer"
            ],
            "minimum": 0,
            "maximum": 8640000000000000,
            "maxLength": 40
          },
          "created_to": {
            "type": [
              "string",
              "integer"
            ],
            "minimum": 0,
            "maximum": 8640000000000000,
            "maxLength": 40
          }
        },
        "additionalProperties": true,
        "propertyNames": {
          "enum": [
            "status",
            "site",
            "seen_since",
            "created_from",
            "created_to"
          ]
        }
      }
    }
  },
  "updateMiningDevice": {
    "type": "object",
    "properties": {
      "imei": {
        "type": "string"
      },
      "vehicle_no": {
        "minLength": 1,
        "maxLength": 40,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "permit_no": {
        "minLength": 1,
        "maxLength": 60,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "site": {
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "owner_name": {
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "status": {
        "type": "string",
        "enum": [
          "pending",
          "active",
          "inactive"
        ]
      },
      "attributes": {
        "type": "object",
        "additionalProperties": true
      }
    }
  },
  "clearMiningData": {
    "type": "object",
    "required": [
      "confirm"
    ],
    "properties": {
      "confirm": {
        "type": "string",
        "enum": [
          "CLEAR"
        ]
      },
      "imei": {
        "minLength": 1,
        "maxLength": 20,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "before": {
        "type": [
          "string",
          "integer"
        ],
        "minimum": 0,
        "maximum": 8640000000000000,
        "maxLength": 40
      }
    }
  },
  "createPartner": {
    "type": "object",
    "required": [
      "name"
    ],
    "properties": {
      "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "imei_prefixes": {
        "type": "array",
        "items": {
          "type": "string",
          "pattern": "^\\d{1,20}$"
        },
        "maxItems": 100
      },
      "ip_allowlist": {
        "type": "array",
        "items": {
          "type": "string",
          "minLength": 1,
          "maxLength": 64,
          "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
        },
        "maxItems": 100
      },
      "command_url": {
        "type": "string",
        "minLength": 1,
        "maxLength": 2000
      },
      "command_token": {
        "type": "string",
        "minLength": 1,
        "maxLength": 256,
        "pattern": "^[^\\u0000]*$"
      },
      "command_level": {
        "type": "string",
        "enum": [
          "none",
          "standard",
          "critical"
        ]
      },
      "code": {
        "type": "string",
        "maxLength": 20
      }
    }
  },
  "updatePartner": {
    "type": "object",
    "properties": {
      "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "imei_prefixes": {
        "type": "array",
        "items": {
          "type": "string",
          "pattern": "^\\d{1,20}$"
        },
        "maxItems": 100
      },
      "ip_allowlist": {
        "type": "array",
        "items": {
          "type": "string",
          "minLength": 1,
          "maxLength": 64,
          "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
        },
        "maxItems": 100
      },
      "command_url": {
        "minLength": 1,
        "maxLength": 2000,
        "type": [
          "string",
          "null"
        ]
      },
      "command_token": {
        "minLength": 1,
        "maxLength": 256,
        "pattern": "^[^\\u0000]*$",
        "type": [
          "string",
          "null"
        ]
      },
      "command_level": {
        "type": "string",
        "enum": [
          "none",
          "standard",
          "critical"
        ]
      },
      "code": {
        "type": "string",
        "maxLength": 20
      }
    }
  },
  "pushPartnerHeartbeats": {
    "type": "object",
    "properties": {
      "token": {
        "type": "string",
        "maxLength": 256
      },
      "msgType": {},
      "data_list": {},
      "data": {}
    },
    "additionalProperties": true
  },
  "pushPartnerPositions": {
    "type": "object",
    "properties": {
      "token": {
        "type": "string",
        "maxLength": 256
      },
      "msgType": {},
      "data_list": {},
      "data": {}
    },
    "additionalProperties": true
  },
  "extractDocument": {
    "type": "object",
    "properties": {
      "file": {},
      "content_base64": {
        "type": "string",
        "maxLength": 14000000
      },
      "mime_type": {
        "type": "string",
        "maxLength": 100
      },
      "text": {
        "type": "string",
        "maxLength": 100000
      },
      "document_type": {
        "type": "string",
        "enum": [
          "auto",
          "driver_license",
          "passport",
          "id_card",
          "vehicle_registration",
          "insurance"
        ]
      },
      "country": {
        "type": "string",
        "pattern": "^[A-Za-z]{2,3}$"
      },
      "store": {
        "type": "boolean"
      }
    }
  },
  "createDocument": {
    "type": "object",
    "required": [
      "document_type"
    ],
    "properties": {
      "file": {},
      "content_base64": {
        "type": "string",
        "maxLength": 14000000
      },
      "mime_type": {
        "type": "string",
        "maxLength": 100
      },
      "document_type": {
        "type": "string",
        "enum": [
          "driver_license",
          "passport",
          "id_card",
          "vehicle_registration",
          "insurance"
        ]
      },
      "driver_id": {
        "type": "integer",
        "minimum": 1,
        "maximum": 9007199254740991
      }
    }
  },
  "receiveSms": {
    "type": "object",
    "properties": {},
    "additionalProperties": true
  },
  "receiveVoice": {
    "type": "object",
    "properties": {},
    "additionalProperties": true
  },
  "createSupportTicket": {
    "type": "object",
    "required": [
      "subject",
      "message"
    ],
    "properties": {
      "subject": {
        "type": "string",
        "minLength": 1,
        "maxLength": 200,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "message": {
        "type": "string",
        "minLength": 1,
        "maxLength": 10000,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "vehicle_id": {
        "minimum": 1,
        "maximum": 9007199254740991,
        "type": [
          "integer",
          "null"
        ]
      },
      "priority": {
        "type": "string",
        "enum": [
          "low",
          "normal",
          "high",
          "urgent"
        ]
      }
    }
  },
  "updateSupportTicket": {
    "type": "object",
    "properties": {
      "subject": {
        "type": "string",
        "minLength": 1,
        "maxLength": 200,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "message": {
        "type": "string",
        "minLength": 1,
        "maxLength": 10000,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "vehicle_id": {
        "minimum": 1,
        "maximum": 9007199254740991,
        "type": [
          "integer",
          "null"
        ]
      },
      "priority": {
        "type": "string",
        "enum": [
          "low",
          "normal",
          "high",
          "urgent"
        ]
      },
      "status": {
        "type": "string",
        "enum": [
          "open",
          "pending",
          "resolved",
          "closed"
        ]
      }
    }
  },
  "replyToSupportTicket": {
    "type": "object",
    "required": [
      "message"
    ],
    "properties": {
      "message": {
        "type": "string",
        "minLength": 1,
        "maxLength": 10000,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      }
    }
  },
  "createGatewayOrder": {
    "type": "object",
    "required": [
      "plan",
      "vehicle_ids",
      "months"
    ],
    "properties": {
      "plan": {
        "type": "string",
        "minLength": 1,
        "maxLength": 60,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "vehicle_ids": {
        "type": "array",
        "items": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9007199254740991
        },
        "minItems": 1,
        "maxItems": 500
      },
      "months": {
        "type": "integer",
        "enum": [
          1,
          3,
          6,
          12,
          24
        ]
      },
      "coupon": {
        "type": "string",
        "minLength": 1,
        "maxLength": 60,
        "pattern": "^\\s*[^\\s\\u0000][^\\u0000]*$"
      },
      "currency": {
        "type": "string",
        "pattern": "^[A-Z]{3}$"
      }
    }
  },
  "verifyPayment": {
    "type": "object",
    "required": [
      "order_id",
      "payment_id"
    ],
    "properties": {
      "order_id": {
        "type": "integer",
        "minimum": 1,
        "maximum": 9007199254740991
      },
      "payment_id": {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": "^[^\\u0000]*$"
      },
      "signature": {
        "type": "string",
        "minLength": 1,
        "maxLength": 512,
        "pattern": "^[^\\u0000]*$"
      }
    }
  },
  "createCommand": {
    "type": "object",
    "required": [
      "type"
    ],
    "properties": {
      "type": {
        "type": "string",
        "enum": [
          "control",
          "text",
          "wakeup",
          "live_start",
          "live_stop",
          "capture",
          "upload",
          "resource_list",
          "set_parameters",
          "query_parameters",
          "query_attributes",
          "locate",
          "vehicle_control",
          "raw"
        ]
      },
      "params": {
        "type": "object",
        "additionalProperties": true,
        "x-params-by-type": {
          "control": {
            "type": "object",
            "required": [
              "command"
            ],
            "properties": {
              "command": {
                "type": "integer",
                "minimum": 0,
                "maximum": 255
              },
              "parameters": {
                "type": [
                  "string",
                  "null"
                ],
                "maxLength": 1022
              }
            }
          },
          "text": {
            "type": "object",
            "required": [
              "text"
            ],
            "properties": {
              "text": {
                "type": "string",
                "minLength": 1,
                "maxLength": 1024
              },
              "text_type": {
                "type": [
                  "string",
                  "null"
                ],
                "enum": [
                  "Notification",
                  "Service",
                  null
                ]
              },
              "options": {
                "type": "object",
                "required": [
                  "emergency",
                  "display_by_terminal",
                  "tts",
                  "display_by_advertising_screen",
                  "central_navigation_info"
                ],
                "properties": {
                  "emergency": {
                    "type": "boolean"
                  },
                  "display_by_terminal": {
                    "type": "boolean"
                  },
                  "tts": {
                    "type": "boolean"
                  },
                  "display_by_advertising_screen": {
                    "type": "boolean"
                  },
                  "central_navigation_info": {
                    "type": "boolean"
                  }
                }
              }
            }
          },
          "wakeup": {
            "type": "object",
            "properties": {}
          },
          "live_start": {
            "type": "object",
            "required": [
              "channel"
            ],
            "properties": {
              "channel": {
                "type": "integer",
                "minimum": 0,
                "maximum": 255
              },
              "data_type": {
                "type": "integer",
                "enum": [
                  0,
                  1,
                  2,
                  3,
                  4,
                  5
                ]
              },
              "stream_type": {
                "type": "integer",
                "enum": [
                  0,
                  1
                ]
              },
              "host": {
                "type": "string",
                "pattern": "^[A-Za-z0-9._:-]{1,253}$"
              },
              "tcp_port": {
                "type": "integer",
                "minimum": 0,
                "maximum": 65535
              },
              "udp_port": {
                "type": "integer",
                "minimum": 0,
                "maximum": 65535
              }
            }
          },
          "live_stop": {
            "type": "object",
            "required": [
              "channel"
            ],
            "properties": {
              "channel": {
                "type": "integer",
                "minimum": 0,
                "maximum": 255
              },
              "close_type": {
                "type": "integer",
                "enum": [
                  0,
                  1,
                  2
                ]
              }
            }
          },
          "capture": {
            "type": "object",
            "required": [
              "channel"
            ],
            "properties": {
              "channel": {
                "type": "integer",
                "minimum": 1,
                "maximum": 255
              },
              "count": {
                "type": "integer",
                "minimum": 1,
                "maximum": 100
              },
              "interval_seconds": {
                "type": "integer",
                "minimum": 0,
                "maximum": 65535
              },
              "film": {
                "type": "boolean"
              },
              "resolution": {
                "type": "integer",
                "minimum": 0,
                "maximum": 255
              },
              "quality": {
                "type": "integer",
                "minimum": 1,
                "maximum": 10
              },
              "brightness": {
                "type": "integer",
                "minimum": 0,
                "maximum": 255
              },
              "contrast": {
                "type": "integer",
                "minimum": 0,
                "maximum": 127
              },
              "saturation": {
                "type": "integer",
                "minimum": 0,
                "maximum": 127
              },
              "chroma": {
                "type": "integer",
                "minimum": 0,
                "maximum": 255
              }
            }
          },
          "upload": {
            "type": "object",
            "required": [
              "channel",
              "start_time",
              "end_time"
            ],
            "properties": {
              "channel": {
                "type": "integer",
                "minimum": 0,
                "maximum": 255
              },
              "start_time": {
                "type": "string",
                "format": "date-time",
                "pattern": "^\\d{4}-\\d\\d-\\d\\d[Tt][0-9:.]+([Zz]|[+-]\\d\\d:\\d\\d)$"
              },
              "end_time": {
                "type": "string",
                "format": "date-time",
                "pattern": "^\\d{4}-\\d\\d-\\d\\d[Tt][0-9:.]+([Zz]|[+-]\\d\\d:\\d\\d)$"
              },
              "resource_type": {
                "type": "integer",
                "enum": [
                  0,
                  1,
                  2,
                  3
                ]
              },
              "stream_type": {
                "type": "integer",
                "enum": [
                  0,
                  1,
                  2
                ]
              },
              "memory_type": {
                "type": "integer",
                "enum": [
                  0,
                  1,
                  2
                ]
              },
              "alarm": {
                "type": "integer",
                "minimum": 0,
                "maximum": 9007199254740991
              },
              "host": {
                "type": "string",
                "pattern": "^[A-Za-z0-9._:-]{1,253}$"
              },
              "port": {
                "type": "integer",
                "minimum": 0,
                "maximum": 65535
              },
              "wifi": {
                "type": "boolean"
              },
              "lan": {
                "type": "boolean"
              },
              "mobile_network": {
                "type": "boolean"
              }
            }
          },
          "resource_list": {
            "type": "object",
            "required": [
              "channel",
              "start_time",
              "end_time"
            ],
            "properties": {
              "channel": {
                "type": "integer",
                "minimum": 0,
                "maximum": 255
              },
              "start_time": {
                "type": "string",
                "format": "date-time",
                "pattern": "^\\d{4}-\\d\\d-\\d\\d[Tt][0-9:.]+([Zz]|[+-]\\d\\d:\\d\\d)$"
              },
              "end_time": {
                "type": "string",
                "format": "date-time",
                "pattern": "^\\d{4}-\\d\\d-\\d\\d[Tt][0-9:.]+([Zz]|[+-]\\d\\d:\\d\\d)$"
              },
              "resource_type": {
                "type": "integer",
                "enum": [
                  0,
                  1,
                  2,
                  3
                ]
              },
              "stream_type": {
                "type": "integer",
                "enum": [
                  0,
                  1,
                  2
                ]
              },
              "memory_type": {
                "type": "integer",
                "enum": [
                  0,
                  1,
                  2
                ]
              },
              "alarm": {
                "type": "integer",
                "minimum": 0,
                "maximum": 9007199254740991
              }
            }
          },
          "set_parameters": {
            "type": "object",
            "required": [
              "parameters"
            ],
            "properties": {
              "parameters": {
                "type": "array",
                "items": {
                  "type": "object",
                  "required": [
                    "id"
                  ],
                  "properties": {
                    "id": {
                      "type": "integer",
                      "minimum": 0,
                      "maximum": 4294967295
                    },
                    "value": {
                      "type": [
                        "string",
                        "integer"
                      ],
                      "maxLength": 255
                    },
                    "value_hex": {
                      "type": "string",
                      "pattern": "^([0-9A-Fa-f]{2})*$",
                      "maxLength": 510
                    }
                  }
                },
                "minItems": 1,
                "maxItems": 100
              }
            }
          },
          "query_parameters": {
            "type": "object",
            "required": [],
            "properties": {
              "ids": {
                "type": "array",
                "items": {
                  "type": "integer",
                  "minimum": 0,
                  "maximum": 4294967295
                },
                "maxItems": 255
              }
            }
          },
          "query_attributes": {
            "type": "object",
            "properties": {}
          },
          "locate": {
            "type": "object",
            "properties": {}
          },
          "vehicle_control": {
            "type": "object",
            "required": [
              "doors"
            ],
            "properties": {
              "doors": {
                "type": "string",
                "enum": [
                  "lock",
                  "unlock"
                ]
              }
            }
          },
          "raw": {
            "type": "object",
            "required": [
              "message_id"
            ],
            "properties": {
              "message_id": {
                "type": "string",
                "pattern": "^0x[89][0-9A-Fa-f]{3}$"
              },
              "body_hex": {
                "type": "string",
                "pattern": "^([0-9A-Fa-f]{2})*$",
                "maxLength": 32768
              }
            }
          }
        },
        "x-critical-commands": {
          "types": [
            "raw"
          ],
          "controls": [
            1,
            2,
            5
          ],
          "parameterRanges": [
            [
              16,
              25
            ],
            [
              35,
              38
            ]
          ]
        }
      },
      "ttl_seconds": {
        "type": "integer",
        "minimum": 60,
        "maximum": 2592000
      },
      "priority": {
        "type": "integer",
        "minimum": 0,
        "maximum": 9
      }
    }
  }
};
